# Completion of the ptrace-* commands for fish. Made from the commands' tables of options by
#     go test ./cmd/internal/script -run TestCompletions -update
#
# What was typed, and names from a trace, are data: nothing of them is evaluated.

function __posixtrace_streams
    timeout 2 ptrace-ctl list -q 2>/dev/null
end

# Whether no operand was typed yet.
function __posixtrace_before_operand
    set -l words (commandline -opc)
    set -l program (path basename -- $words[1])
    set -l takes
    for word in $words[2..]
        if set -q takes[1]
            set -e takes
        else if test "$word" = --
            return 1
        else if __posixtrace_takes $program:$word
            set takes 1
        else if not string match -q -- '-*' $word
            return 1
        end
    end
    return 0
end

# The event types of the log or stream that the command line names.
function __posixtrace_types
    set -l words (commandline -opc)
    set -l stream
    if contains -- (path basename -- $words[1]) ptrace-dump ptrace-diff ptrace-export
        for word in $words[2..]
            if not string match -q -- '-*' $word; and test -f $word
                timeout 2 ptrace-dump --types -- $word 2>/dev/null | string replace -rf '^[0-9]+ +[a-z]+ +' ''
                return
            end
        end
    end
    for i in (seq 2 (count $words))
        if contains -- $words[$i] -S --stream
            set stream -S $words[(math $i + 1)]
        end
    end
    timeout 2 ptrace-filter -l $stream 2>/dev/null | string sub -s 3
end

function __posixtrace_sets
    printf '%s\n' @user @system @all command files none proc signal syscall %%stat %%statfs %clock %creds %desc %file %fstat %fstatfs %ipc %lstat %memory %net %network %process %pure %signal %stat %statfs
    __posixtrace_types
end

function __posixtrace_sources
    printf '%s\n' command files none proc signal syscall %%stat %%statfs %clock %creds %desc %file %fstat %fstatfs %ipc %lstat %memory %net %network %process %pure %signal %stat %statfs
    if string match -q -- '*syscall.*' (commandline -ct)
        printf '%s\n' \
            syscall._sysctl syscall.accept syscall.accept4 syscall.access syscall.acct syscall.add_key \
            syscall.adjtimex syscall.afs_syscall syscall.alarm syscall.arch_prctl syscall.bind syscall.bpf \
            syscall.brk syscall.cachestat syscall.capget syscall.capset syscall.chdir syscall.chmod \
            syscall.chown syscall.chroot syscall.clock_adjtime syscall.clock_getres syscall.clock_gettime \
            syscall.clock_nanosleep syscall.clock_settime syscall.clone syscall.clone3 syscall.close \
            syscall.close_range syscall.connect syscall.copy_file_range syscall.creat syscall.create_module \
            syscall.delete_module syscall.dup syscall.dup2 syscall.dup3 syscall.epoll_create \
            syscall.epoll_create1 syscall.epoll_ctl syscall.epoll_ctl_old syscall.epoll_pwait \
            syscall.epoll_pwait2 syscall.epoll_wait syscall.epoll_wait_old syscall.eventfd syscall.eventfd2 \
            syscall.execve syscall.execveat syscall.exit syscall.exit_group syscall.faccessat \
            syscall.faccessat2 syscall.fadvise64 syscall.fallocate syscall.fanotify_init \
            syscall.fanotify_mark syscall.fchdir syscall.fchmod syscall.fchmodat syscall.fchmodat2 \
            syscall.fchown syscall.fchownat syscall.fcntl syscall.fdatasync syscall.fgetxattr \
            syscall.file_getattr syscall.file_setattr syscall.finit_module syscall.flistxattr syscall.flock \
            syscall.fork syscall.fremovexattr syscall.fsconfig syscall.fsetxattr syscall.fsmount \
            syscall.fsopen syscall.fspick syscall.fstat syscall.fstatfs syscall.fsync syscall.ftruncate \
            syscall.futex syscall.futex_requeue syscall.futex_wait syscall.futex_waitv syscall.futex_wake \
            syscall.futimesat syscall.get_kernel_syms syscall.get_mempolicy syscall.get_robust_list \
            syscall.get_thread_area syscall.getcpu syscall.getcwd syscall.getdents syscall.getdents64 \
            syscall.getegid syscall.geteuid syscall.getgid syscall.getgroups syscall.getitimer \
            syscall.getpeername syscall.getpgid syscall.getpgrp syscall.getpid syscall.getpmsg \
            syscall.getppid syscall.getpriority syscall.getrandom syscall.getresgid syscall.getresuid \
            syscall.getrlimit syscall.getrusage syscall.getsid syscall.getsockname syscall.getsockopt \
            syscall.gettid syscall.gettimeofday syscall.getuid syscall.getxattr syscall.getxattrat \
            syscall.init_module syscall.inotify_add_watch syscall.inotify_init syscall.inotify_init1 \
            syscall.inotify_rm_watch syscall.io_cancel syscall.io_destroy syscall.io_getevents \
            syscall.io_pgetevents syscall.io_setup syscall.io_submit syscall.io_uring_enter \
            syscall.io_uring_register syscall.io_uring_setup syscall.ioctl syscall.ioperm syscall.iopl \
            syscall.ioprio_get syscall.ioprio_set syscall.kcmp syscall.kexec_file_load syscall.kexec_load \
            syscall.keyctl syscall.kill syscall.landlock_add_rule syscall.landlock_create_ruleset \
            syscall.landlock_restrict_self syscall.lchown syscall.lgetxattr syscall.link syscall.linkat \
            syscall.listen syscall.listmount syscall.listns syscall.listxattr syscall.listxattrat \
            syscall.llistxattr syscall.lookup_dcookie syscall.lremovexattr syscall.lseek syscall.lsetxattr \
            syscall.lsm_get_self_attr syscall.lsm_list_modules syscall.lsm_set_self_attr syscall.lstat \
            syscall.madvise syscall.map_shadow_stack syscall.mbind syscall.membarrier syscall.memfd_create \
            syscall.memfd_secret syscall.migrate_pages syscall.mincore syscall.mkdir syscall.mkdirat \
            syscall.mknod syscall.mknodat syscall.mlock syscall.mlock2 syscall.mlockall syscall.mmap \
            syscall.modify_ldt syscall.mount syscall.mount_setattr syscall.move_mount syscall.move_pages \
            syscall.mprotect syscall.mq_getsetattr syscall.mq_notify syscall.mq_open syscall.mq_timedreceive \
            syscall.mq_timedsend syscall.mq_unlink syscall.mremap syscall.mseal syscall.msgctl \
            syscall.msgget syscall.msgrcv syscall.msgsnd syscall.msync syscall.munlock syscall.munlockall \
            syscall.munmap syscall.name_to_handle_at syscall.nanosleep syscall.newfstatat syscall.nfsservctl \
            syscall.open syscall.open_by_handle_at syscall.open_tree syscall.open_tree_attr syscall.openat \
            syscall.openat2 syscall.pause syscall.perf_event_open syscall.personality syscall.pidfd_getfd \
            syscall.pidfd_open syscall.pidfd_send_signal syscall.pipe syscall.pipe2 syscall.pivot_root \
            syscall.pkey_alloc syscall.pkey_free syscall.pkey_mprotect syscall.poll syscall.ppoll \
            syscall.prctl syscall.pread64 syscall.preadv syscall.preadv2 syscall.prlimit64 \
            syscall.process_madvise syscall.process_mrelease syscall.process_vm_readv \
            syscall.process_vm_writev syscall.pselect6 syscall.ptrace syscall.putpmsg syscall.pwrite64 \
            syscall.pwritev syscall.pwritev2 syscall.query_module syscall.quotactl syscall.quotactl_fd \
            syscall.read syscall.readahead syscall.readlink syscall.readlinkat syscall.readv syscall.reboot \
            syscall.recvfrom syscall.recvmmsg syscall.recvmsg syscall.remap_file_pages syscall.removexattr \
            syscall.removexattrat syscall.rename syscall.renameat syscall.renameat2 syscall.request_key \
            syscall.restart_syscall syscall.rmdir syscall.rseq syscall.rseq_slice_yield syscall.rt_sigaction \
            syscall.rt_sigpending syscall.rt_sigprocmask syscall.rt_sigqueueinfo syscall.rt_sigreturn \
            syscall.rt_sigsuspend syscall.rt_sigtimedwait syscall.rt_tgsigqueueinfo \
            syscall.sched_get_priority_max syscall.sched_get_priority_min syscall.sched_getaffinity \
            syscall.sched_getattr syscall.sched_getparam syscall.sched_getscheduler \
            syscall.sched_rr_get_interval syscall.sched_setaffinity syscall.sched_setattr \
            syscall.sched_setparam syscall.sched_setscheduler syscall.sched_yield syscall.seccomp \
            syscall.security syscall.select syscall.semctl syscall.semget syscall.semop syscall.semtimedop \
            syscall.sendfile syscall.sendmmsg syscall.sendmsg syscall.sendto syscall.set_mempolicy \
            syscall.set_mempolicy_home_node syscall.set_robust_list syscall.set_thread_area \
            syscall.set_tid_address syscall.setdomainname syscall.setfsgid syscall.setfsuid syscall.setgid \
            syscall.setgroups syscall.sethostname syscall.setitimer syscall.setns syscall.setpgid \
            syscall.setpriority syscall.setregid syscall.setresgid syscall.setresuid syscall.setreuid \
            syscall.setrlimit syscall.setsid syscall.setsockopt syscall.settimeofday syscall.setuid \
            syscall.setxattr syscall.setxattrat syscall.shmat syscall.shmctl syscall.shmdt syscall.shmget \
            syscall.shutdown syscall.sigaltstack syscall.signalfd syscall.signalfd4 syscall.socket \
            syscall.socketpair syscall.splice syscall.stat syscall.statfs syscall.statmount syscall.statx \
            syscall.swapoff syscall.swapon syscall.symlink syscall.symlinkat syscall.sync \
            syscall.sync_file_range syscall.syncfs syscall.sysfs syscall.sysinfo syscall.syslog syscall.tee \
            syscall.tgkill syscall.time syscall.timer_create syscall.timer_delete syscall.timer_getoverrun \
            syscall.timer_gettime syscall.timer_settime syscall.timerfd_create syscall.timerfd_gettime \
            syscall.timerfd_settime syscall.times syscall.tkill syscall.truncate syscall.tuxcall \
            syscall.umask syscall.umount2 syscall.uname syscall.unlink syscall.unlinkat syscall.unshare \
            syscall.uprobe syscall.uretprobe syscall.uselib syscall.userfaultfd syscall.ustat syscall.utime \
            syscall.utimensat syscall.utimes syscall.vfork syscall.vhangup syscall.vmsplice syscall.vserver \
            syscall.wait4 syscall.waitid syscall.write syscall.writev
    end
end

# Whether PROGRAM:OPTION takes the next word.
function __posixtrace_takes
    contains -- $argv[1] \
        ptrace-run:--log ptrace-run:-o \
        ptrace-run:--name ptrace-run:-n \
        ptrace-run:--pty \
        ptrace-run:--events ptrace-run:-e \
        ptrace-run:--pid ptrace-run:-p \
        ptrace-run:--inherit ptrace-run:-i \
        ptrace-run:--exclude ptrace-run:-x \
        ptrace-run:--redact \
        ptrace-run:--redact-file \
        ptrace-run:--stream-size \
        ptrace-run:--max-data-size \
        ptrace-run:--stream-full-policy \
        ptrace-run:--log-size \
        ptrace-run:--log-full-policy \
        ptrace-run:--dump \
        ptrace-run:--last ptrace-run:-N \
        ptrace-run:--timeout ptrace-run:-t \
        ptrace-run:--kill-after ptrace-run:-k \
        ptrace-run:--signal ptrace-run:-s \
        ptrace-run:--hang \
        ptrace-run:--drain \
        ptrace-run:--report \
        ptrace-run:--undeclared \
        ptrace-run:--color \
        ptrace-create:--pid ptrace-create:-p \
        ptrace-create:--events ptrace-create:-e \
        ptrace-create:--log ptrace-create:-o \
        ptrace-create:--inherit ptrace-create:-i \
        ptrace-create:--exclude ptrace-create:-x \
        ptrace-create:--redact \
        ptrace-create:--redact-file \
        ptrace-create:--stream-size \
        ptrace-create:--max-data-size \
        ptrace-create:--stream-full-policy \
        ptrace-create:--log-size \
        ptrace-create:--log-full-policy \
        ptrace-create:--color \
        ptrace-ctl:--stream ptrace-ctl:-S \
        ptrace-ctl:--pid ptrace-ctl:-p \
        ptrace-ctl:--color \
        ptrace-filter:--stream ptrace-filter:-S \
        ptrace-filter:--add ptrace-filter:-x \
        ptrace-filter:--sub ptrace-filter:-d \
        ptrace-filter:--set ptrace-filter:-s \
        ptrace-filter:--only \
        ptrace-filter:--input ptrace-filter:-i \
        ptrace-filter:--output ptrace-filter:-o \
        ptrace-filter:--color \
        ptrace-event:--stream ptrace-event:-S \
        ptrace-event:--pid ptrace-event:-p \
        ptrace-event:--color \
        ptrace-dump:--stream ptrace-dump:-S \
        ptrace-dump:--format \
        ptrace-dump:--annotate \
        ptrace-dump:--string-size \
        ptrace-dump:--mask \
        ptrace-dump:--replay \
        ptrace-dump:--time \
        ptrace-dump:--events ptrace-dump:-e \
        ptrace-dump:--exclude ptrace-dump:-x \
        ptrace-dump:--pid ptrace-dump:-p \
        ptrace-dump:--tid ptrace-dump:-T \
        ptrace-dump:--path \
        ptrace-dump:--slower-than \
        ptrace-dump:--since \
        ptrace-dump:--until \
        ptrace-dump:--head \
        ptrace-dump:--last ptrace-dump:-N \
        ptrace-dump:--timeout \
        ptrace-dump:--wait-for ptrace-dump:-w \
        ptrace-dump:--cursor \
        ptrace-dump:--sort \
        ptrace-dump:--top \
        ptrace-dump:--history \
        ptrace-dump:--undeclared \
        ptrace-dump:--redact \
        ptrace-dump:--redact-file \
        ptrace-dump:--color \
        ptrace-diff:--old \
        ptrace-diff:--new \
        ptrace-diff:--threshold \
        ptrace-diff:--top \
        ptrace-diff:--events ptrace-diff:-e \
        ptrace-diff:--exclude ptrace-diff:-x \
        ptrace-diff:--pid ptrace-diff:-p \
        ptrace-diff:--tid ptrace-diff:-T \
        ptrace-diff:--color \
        ptrace-export:--to \
        ptrace-export:--output ptrace-export:-o \
        ptrace-export:--endpoint \
        ptrace-export:--spool \
        ptrace-export:--timeout \
        ptrace-export:--events ptrace-export:-e \
        ptrace-export:--exclude ptrace-export:-x \
        ptrace-export:--pid ptrace-export:-p \
        ptrace-export:--tid ptrace-export:-T \
        ptrace-export:--since \
        ptrace-export:--until \
        ptrace-export:--redact \
        ptrace-export:--redact-file \
        ptrace-export:--color
end

complete -c ptrace-run -e
complete -c ptrace-run -n __posixtrace_before_operand -s o -l log -r -F -d 'record to LOG, replacing an existing regular file'
complete -c ptrace-run -n __posixtrace_before_operand -l no-clobber -d 'keep an existing file; sync the log at each flush'
complete -c ptrace-run -n __posixtrace_before_operand -l sync -d 'write the log to its device with each flush'
complete -c ptrace-run -n __posixtrace_before_operand -s n -l name -r -f -d 'name of the stream'
complete -c ptrace-run -n __posixtrace_before_operand -s c -l capture -f -a 'out err out,err' -d 'record lines of output; SET: out, err or out,err'
complete -c ptrace-run -n __posixtrace_before_operand -l pty -r -f -a 'auto yes no' -d 'capture through a pseudo-terminal (auto)'
complete -c ptrace-run -n __posixtrace_before_operand -s e -l events -r -f -a '(__fish_complete_list , __posixtrace_sources)' -d 'record command (default), none, or by ptrace(2): proc, signal, files, syscall, %file ...'
complete -c ptrace-run -n __posixtrace_before_operand -s y -l decode-fds -d '--events: record paths and sockets of descriptors'
complete -c ptrace-run -n __posixtrace_before_operand -l stack -d 'record call stacks; values of the environment'
complete -c ptrace-run -n __posixtrace_before_operand -l environment -d '-e proc: record the values of changed variables'
complete -c ptrace-run -n __posixtrace_before_operand -s p -l pid -r -f -a '(__fish_complete_pids)' -d 'attach to PID until INT; needs -e or --sample'
complete -c ptrace-run -n __posixtrace_before_operand -l make -d 'record a span for each line of a recipe of make'
complete -c ptrace-run -n __posixtrace_before_operand -s i -l inherit -r -f -a 'yes no' -d 'trace the command\'s children too (yes)'
complete -c ptrace-run -n __posixtrace_before_operand -s x -l exclude -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'reject these events from the start'
complete -c ptrace-run -n __posixtrace_before_operand -l stopped -d 'create the stream suspended, for ptrace-ctl start'
complete -c ptrace-run -n __posixtrace_before_operand -l redact -r -f -d 'replace matches by ***; @tokens: known token forms'
complete -c ptrace-run -n __posixtrace_before_operand -l redact-file -r -F -d 'the same for each line of FILE'
complete -c ptrace-run -n __posixtrace_before_operand -l stream-size -r -f -d 'size of the stream in memory (1M)'
complete -c ptrace-run -n __posixtrace_before_operand -l max-data-size -r -f -d 'keep at most this much data of an event (4K)'
complete -c ptrace-run -n __posixtrace_before_operand -l stream-full-policy -r -f -a 'loop until-full flush' -d 'loop (default), until-full, flush (default with -o)'
complete -c ptrace-run -n __posixtrace_before_operand -l log-size -r -f -d 'size of the log, for loop and until-full'
complete -c ptrace-run -n __posixtrace_before_operand -l log-full-policy -r -f -a 'append until-full loop' -d 'append, until-full, loop (append)'
complete -c ptrace-run -n __posixtrace_before_operand -l dump -r -f -a 'fail always never' -d 'without --log: print the last events (fail)'
complete -c ptrace-run -n __posixtrace_before_operand -s N -l last -r -f -d 'how many events --dump prints (50)'
complete -c ptrace-run -n __posixtrace_before_operand -s t -l timeout -r -f -d 'end the command after DUR'
complete -c ptrace-run -n __posixtrace_before_operand -s k -l kill-after -r -f -d 'kill the command if it still runs DUR later'
complete -c ptrace-run -n __posixtrace_before_operand -s s -l signal -r -f -a '(kill -l | string split " ")' -d 'end the command with SIG (TERM)'
complete -c ptrace-run -n __posixtrace_before_operand -l hang -r -f -d 'report what an idle command waits for, after DUR'
complete -c ptrace-run -n __posixtrace_before_operand -l sample -f -d 'record what the processes use, each DUR (1s)'
complete -c ptrace-run -n __posixtrace_before_operand -l foreground -d 'with -t: leave the command its terminal'
complete -c ptrace-run -n __posixtrace_before_operand -l drain -r -f -d 'record background output after the end for DUR (2s)'
complete -c ptrace-run -n __posixtrace_before_operand -l live -F -d 'print events as they happen, as strace does'
complete -c ptrace-run -n __posixtrace_before_operand -l summary -d 'print where the time went, why the command failed'
complete -c ptrace-run -n __posixtrace_before_operand -l why -d 'print why the command failed, if it did'
complete -c ptrace-run -n __posixtrace_before_operand -l report -r -F -d 'write a page of the run, HTML, at the end'
complete -c ptrace-run -n __posixtrace_before_operand -l undeclared -r -F -d 'print files used outside of FILE\'s globs, status 1'
complete -c ptrace-run -n __posixtrace_before_operand -l strict -d 'status 1 if an event was lost or the log failed'
complete -c ptrace-run -n __posixtrace_before_operand -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-run -n __posixtrace_before_operand -s h -l help -d 'show this help and exit'
complete -c ptrace-run -n __posixtrace_before_operand -s V -l version -d 'show the version and exit'
complete -c ptrace-run -x -a '(__fish_complete_subcommand --fcs-skip=1)'

complete -c ptrace-create -e
complete -c ptrace-create -s p -l pid -r -f -a '(__fish_complete_pids)' -d 'trace this process (default: the calling script)'
complete -c ptrace-create -s e -l events -r -f -a '(__fish_complete_list , __posixtrace_sources)' -d 'also record, by ptrace(2): proc, signal, files, syscall, syscall.NAME, %file ...'
complete -c ptrace-create -s y -l decode-fds -d '--events: record paths and sockets of descriptors'
complete -c ptrace-create -l stack -d '-e: record call stacks; values of the environment'
complete -c ptrace-create -l environment -d '-e proc: record the values of changed variables'
complete -c ptrace-create -s o -l log -r -F -d 'record to LOG, replacing an existing regular file'
complete -c ptrace-create -l no-clobber -d 'keep an existing file; sync the log at each flush'
complete -c ptrace-create -l sync -d 'write the log to its device with each flush'
complete -c ptrace-create -s i -l inherit -r -f -a 'yes no' -d 'trace the process\'s children too (yes)'
complete -c ptrace-create -s x -l exclude -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'reject these events from the start'
complete -c ptrace-create -s s -l start -d 'start recording at once'
complete -c ptrace-create -l redact -r -f -d 'replace matches by ***; @tokens: known token forms'
complete -c ptrace-create -l redact-file -r -F -d 'the same for each line of FILE'
complete -c ptrace-create -l stream-size -r -f -d 'size of the stream in memory (1M)'
complete -c ptrace-create -l max-data-size -r -f -d 'keep at most this much data of an event (4K)'
complete -c ptrace-create -l stream-full-policy -r -f -a 'loop until-full flush' -d 'loop (default), until-full, flush (default with -o)'
complete -c ptrace-create -l log-size -r -f -d 'size of the log, for loop and until-full'
complete -c ptrace-create -l log-full-policy -r -f -a 'append until-full loop' -d 'append, until-full, loop (append)'
complete -c ptrace-create -l export -d 'print code that exports PTRACE_STREAM, for eval'
complete -c ptrace-create -l foreground -d 'stay, and shut the stream down on INT or TERM'
complete -c ptrace-create -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-create -s h -l help -d 'show this help and exit'
complete -c ptrace-create -s V -l version -d 'show the version and exit'
complete -c ptrace-create -f

complete -c ptrace-ctl -e
complete -c ptrace-ctl -s S -l stream -r -f -a '(__posixtrace_streams)' -d 'the stream (default: the operands, $PTRACE_STREAM)'
complete -c ptrace-ctl -s w -l wait -d 'flush: wait for the end and report its error'
complete -c ptrace-ctl -l sync -d 'flush: wait until the log is on its device'
complete -c ptrace-ctl -s f -l force -d 'shutdown: a missing stream is not an error'
complete -c ptrace-ctl -s j -l json -d 'status, list, hang: one JSON object per stream, or thread'
complete -c ptrace-ctl -s p -l pid -r -f -a '(__fish_complete_pids)' -d 'status: what the threads of this process are doing now; hang: the root of the tree'
complete -c ptrace-ctl -l stack -d 'hang: show the call stack of each thread'
complete -c ptrace-ctl -l reset -d 'status: reset the overrun and error members'
complete -c ptrace-ctl -s q -l quiet -d 'list: only names, or paths of ambiguous names'
complete -c ptrace-ctl -l stale -d 'list: only streams whose process has ended'
complete -c ptrace-ctl -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-ctl -s h -l help -d 'show this help and exit'
complete -c ptrace-ctl -s V -l version -d 'show the version and exit'
complete -c ptrace-ctl -f -n __posixtrace_before_operand -a 'start stop clear flush shutdown status list'
complete -c ptrace-ctl -f -n 'not __posixtrace_before_operand' -a '(__posixtrace_streams)'

complete -c ptrace-filter -e
complete -c ptrace-filter -s S -l stream -r -f -a '(__posixtrace_streams)' -d 'the stream (default: the operand, $PTRACE_STREAM)'
complete -c ptrace-filter -s l -l list -d 'list all known types, marked \'-\' if rejected'
complete -c ptrace-filter -s x -l add -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'also reject SET'
complete -c ptrace-filter -s d -l sub -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'accept SET again'
complete -c ptrace-filter -s s -l set -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'reject exactly SET'
complete -c ptrace-filter -l only -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'accept only SET'
complete -c ptrace-filter -s r -l reset -d 'reject nothing'
complete -c ptrace-filter -s n -l dry-run -d 'print the result and change nothing'
complete -c ptrace-filter -s i -l input -r -F -d 'filter the events of a log; - is standard input'
complete -c ptrace-filter -s o -l output -r -F -d 'write them to a new log; - is standard output'
complete -c ptrace-filter -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-filter -s h -l help -d 'show this help and exit'
complete -c ptrace-filter -s V -l version -d 'show the version and exit'
complete -c ptrace-filter -f -a '(__posixtrace_streams)'

complete -c ptrace-event -e
complete -c ptrace-event -n __posixtrace_before_operand -s S -l stream -r -f -a '(__posixtrace_streams)' -d 'record in this stream, whichever process it traces'
complete -c ptrace-event -n __posixtrace_before_operand -s p -l pid -r -f -a '(__fish_complete_pids)' -d 'act for this process (default: the script)'
complete -c ptrace-event -n __posixtrace_before_operand -s B -l begin -d 'record NAME.begin'
complete -c ptrace-event -n __posixtrace_before_operand -s E -l end -d 'record NAME.end'
complete -c ptrace-event -n __posixtrace_before_operand -s r -l run -d 'record NAME.begin, run COMMAND, record NAME.end with its status; exit like COMMAND'
complete -c ptrace-event -n __posixtrace_before_operand -l stdin -d 'take the data from standard input'
complete -c ptrace-event -n __posixtrace_before_operand -l lines -f -a 'tee' -d 'record one event per line of standard input; tee: also copy it to standard output'
complete -c ptrace-event -n __posixtrace_before_operand -l batch -d 'record one event per line \'NAME TAB DATA\' of input'
complete -c ptrace-event -n __posixtrace_before_operand -l require -d 'status 1 if no running stream recorded the event'
complete -c ptrace-event -n __posixtrace_before_operand -l shell -f -a 'sh bash zsh' -d 'print functions for eval that start no program: pt NAME [DATA], pt_begin, pt_end, pt_step NAME CMD...'
complete -c ptrace-event -n __posixtrace_before_operand -l steps -d '--shell=bash: also a span for each command'
complete -c ptrace-event -n __posixtrace_before_operand -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-event -n __posixtrace_before_operand -s h -l help -d 'show this help and exit'
complete -c ptrace-event -n __posixtrace_before_operand -s V -l version -d 'show the version and exit'
complete -c ptrace-event -f -n __posixtrace_before_operand -a '(__posixtrace_types)'

complete -c ptrace-dump -e
complete -c ptrace-dump -s S -l stream -r -f -a '(__posixtrace_streams)' -d 'read this stream (default: $PTRACE_STREAM)'
complete -c ptrace-dump -s j -l json -d 'write one JSON object per event'
complete -c ptrace-dump -l csv -d 'write comma-separated values with a header line'
complete -c ptrace-dump -l table -d 'write a table as wide as the terminal'
complete -c ptrace-dump -l chrome -d 'write trace-event JSON for timeline viewers'
complete -c ptrace-dump -l format -r -f -d 'write %t time, %p pid, %n name, %d data, %% \\n ...'
complete -c ptrace-dump -l golden -d 'write reproducible text, or JSON with -j'
complete -c ptrace-dump -l strace -d 'write system calls as strace(1) does'
complete -c ptrace-dump -l annotate -r -f -a 'rel abs delta cost' -d 'write captured output, times rel, abs, delta, cost'
complete -c ptrace-dump -l string-size -r -f -d '--strace: show N bytes of each string (32)'
complete -c ptrace-dump -l mask -r -f -d '--golden: mask data: REGEXP, @tmp, @pid or @date'
complete -c ptrace-dump -l replay -r -f -d 'replay at SPEED times the recorded rate'
complete -c ptrace-dump -l symbols -d 'show addresses as function (file:line), call stacks'
complete -c ptrace-dump -l stack -d 'show the call stacks that ptrace-run --stack recorded'
complete -c ptrace-dump -l time -r -f -a 'rel abs unix delta none' -d 'times: rel (the default), abs, unix, delta, none'
complete -c ptrace-dump -s e -l events -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'show only these: names, globs, @user, @system, @all'
complete -c ptrace-dump -s x -l exclude -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'do not show these events'
complete -c ptrace-dump -s p -l pid -r -f -a '(__fish_complete_pids)' -d 'show only events of this process'
complete -c ptrace-dump -s T -l tid -r -f -d 'show only events of this thread'
complete -c ptrace-dump -l failed -d 'show only what failed; calls on PATH, or a glob'
complete -c ptrace-dump -l path -r -F -d 'show only system calls on PATH, or a glob'
complete -c ptrace-dump -l slower-than -r -f -d 'show only calls, commands, spans that took longer'
complete -c ptrace-dump -l since -r -f -d 'show events from, before: RFC 3339, HH:MM:SS, -30s'
complete -c ptrace-dump -l until -r -f -d 'show events before this time'
complete -c ptrace-dump -l head -r -f -d 'show only the first, or the last, N events'
complete -c ptrace-dump -s N -l last -r -f -d 'show only the last N events'
complete -c ptrace-dump -s f -l follow -d 'show events as they are recorded'
complete -c ptrace-dump -l timeout -r -f -d 'follow no longer than DUR'
complete -c ptrace-dump -s w -l wait-for -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'follow until one of these events; else status 1'
complete -c ptrace-dump -l cursor -r -F -d 'show events since the last run with this FILE'
complete -c ptrace-dump -l rewind -d '--cursor: start again from the oldest event'
complete -c ptrace-dump -l peek -d 'keep a stream\'s events; status 1 if one was lost'
complete -c ptrace-dump -l strict -d 'exit with status 1 if an event was lost'
complete -c ptrace-dump -s s -l summary -d 'show where the time went, as markdown'
complete -c ptrace-dump -l markdown -d 'write the summary as markdown'
complete -c ptrace-dump -l sort -r -f -a 'name time count failed wall self cpu memory p50 p95 max mean total pause bytes' -d '--summary: sort by this column'
complete -c ptrace-dump -l top -r -f -d 'show N rows of each table or view, 0 for all'
complete -c ptrace-dump -l why -f -d 'say why it failed, in LINES (25)'
complete -c ptrace-dump -l html -d 'write a page; each command as a line for a shell'
complete -c ptrace-dump -l commands -d 'write each command as a line for a shell'
complete -c ptrace-dump -l tree -d 'show processes and spans as a tree, as lanes'
complete -c ptrace-dump -l timeline -d 'show processes and spans as lanes'
complete -c ptrace-dump -l folded -d 'write folded stacks for flame graphs, JUnit XML'
complete -c ptrace-dump -l junit -d 'write spans as test cases, JUnit XML'
complete -c ptrace-dump -l files -f -d 'show which process wrote, read each file; a graph'
complete -c ptrace-dump -l dot -d 'write a graph of commands and files for dot(1)'
complete -c ptrace-dump -l history -r -F -d 'show what processes did with a file, in order'
complete -c ptrace-dump -l unused -d 'show files that no other process read, races'
complete -c ptrace-dump -l races -d 'show files that commands of one make wrote and read in no order'
complete -c ptrace-dump -l undeclared -r -F -d 'show what was read, written outside of FILE\'s globs'
complete -c ptrace-dump -s a -l attributes -d 'show the attributes, the status of the stream'
complete -c ptrace-dump -l status -d 'show the status of the stream'
complete -c ptrace-dump -l types -d 'show the event types; verify the whole log'
complete -c ptrace-dump -l check -d 'verify the whole log and report faults'
complete -c ptrace-dump -l redact -r -f -d 'replace matches by ***; @tokens: known token forms'
complete -c ptrace-dump -l redact-file -r -F -d 'the same for each line of FILE'
complete -c ptrace-dump -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-dump -s h -l help -d 'show this help and exit'
complete -c ptrace-dump -s V -l version -d 'show the version and exit'
complete -c ptrace-dump -F -a '(__posixtrace_streams)'

complete -c ptrace-diff -e
complete -c ptrace-diff -l old -r -F -d 'log or directory of the old group; may be repeated'
complete -c ptrace-diff -l new -r -F -d 'log or directory of the new group; may be repeated'
complete -c ptrace-diff -l threshold -r -f -d 'ignore differences of times below this part, or this duration (10%,50ms)'
complete -c ptrace-diff -l golden -d 'compare what happened, not how long it took'
complete -c ptrace-diff -l top -r -f -d 'show N differences, 0 for all (20)'
complete -c ptrace-diff -s e -l events -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'compare only these: names, globs, @user, @system, @all'
complete -c ptrace-diff -s x -l exclude -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'do not compare these events'
complete -c ptrace-diff -s p -l pid -r -f -a '(__fish_complete_pids)' -d 'compare only events of this process'
complete -c ptrace-diff -s T -l tid -r -f -d 'compare only events of this thread'
complete -c ptrace-diff -s j -l json -d 'write JSON, one object per line'
complete -c ptrace-diff -l table -d 'write a table'
complete -c ptrace-diff -l markdown -d 'write markdown, for a CI step summary'
complete -c ptrace-diff -l html -d 'write an HTML page with both timelines'
complete -c ptrace-diff -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-diff -s h -l help -d 'show this help and exit'
complete -c ptrace-diff -s V -l version -d 'show the version and exit'
complete -c ptrace-diff -F

complete -c ptrace-export -e
complete -c ptrace-export -l to -r -f -a 'ctf otlp parquet compile-commands' -d 'write this format: ctf, otlp, parquet, compile-commands'
complete -c ptrace-export -s o -l output -r -F -d 'write to DEST'
complete -c ptrace-export -l endpoint -r -f -d 'otlp: send to a collector, http://HOST:4318'
complete -c ptrace-export -l spool -r -f -d 'keep in DIR what could not be sent, and send it first'
complete -c ptrace-export -l timeout -r -f -d 'send for at most this time, with retries (5s)'
complete -c ptrace-export -l strict -d 'fail if not all could be sent'
complete -c ptrace-export -s e -l events -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'export only these: names, globs, @user, @system, @all'
complete -c ptrace-export -s x -l exclude -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'do not export these events'
complete -c ptrace-export -s p -l pid -r -f -a '(__fish_complete_pids)' -d 'export only events of this process'
complete -c ptrace-export -s T -l tid -r -f -d 'export only events of this thread'
complete -c ptrace-export -l since -r -f -d 'export events from, before: RFC 3339, HH:MM:SS, -30s'
complete -c ptrace-export -l until -r -f -d 'export events before this time'
complete -c ptrace-export -l redact -r -f -d 'replace matches by ***; @tokens: known token forms'
complete -c ptrace-export -l redact-file -r -F -d 'the same for each line of FILE'
complete -c ptrace-export -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-export -s h -l help -d 'show this help and exit'
complete -c ptrace-export -s V -l version -d 'show the version and exit'
complete -c ptrace-export -F
