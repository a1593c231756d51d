# shellcheck shell=bash
# Completion of the ptrace-* commands for bash. Made from the commands' tables of options by
#     go test ./cmd/internal/script -run TestCompletions -update
#
# What was typed, and names from a trace, are data: nothing of them is evaluated.

# _posixtrace_offer takes names from standard input and offers those that continue
# what is typed. Not compgen -W, which would expand them.
_posixtrace_offer() { # [PREFIX]
	local name
	while IFS= read -r name; do
		if [[ $name == "$cur"* && $name != *\\* ]]; then
			[[ $name == *[!A-Za-z0-9._@=+-]* ]] && printf -v name %q "$name"
			COMPREPLY+=("${1-}$name")
		fi
	done
}

_posixtrace_words() { printf '%s\n' "$@" | cat; }

_posixtrace_streams() { timeout 2 ptrace-ctl list -q 2>/dev/null; }

# The event types of the log or stream that the command line names.
_posixtrace_events() {
	local id class name
	printf '%s\n' @user @system @all command files none proc signal syscall %%stat %%statfs %clock %creds %desc %file %fstat %fstatfs %ipc %lstat %memory %net %network %process %pure %signal %stat %statfs
	if [[ $program == ptrace-@(dump|diff|export) && -f $first ]]; then
		while read -r id class name; do
			[[ $id == [0-9]* && $class ]] && printf '%s\n' "$name"
		done < <(timeout 2 ptrace-dump --types -- "$first" 2>/dev/null)
	else
		timeout 2 ptrace-filter -l ${stream:+-S "$stream"} 2>/dev/null | cut -c 3-
	fi
}

_posixtrace_calls() {
	_posixtrace_words \
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
}

_posixtrace_argument() { # KIND [WORD]...
	local kind=$1 before='' pid
	shift
	case $kind in
	file) compopt -o default ;;
	words) _posixtrace_offer < <(_posixtrace_words "$@") ;;
	verbs) _posixtrace_offer < <(_posixtrace_words start stop clear flush shutdown status list) ;;
	stream) _posixtrace_offer < <(_posixtrace_streams) ;;
	event) _posixtrace_offer < <(_posixtrace_events | grep -v '^[@%]') ;;
	signal) _posixtrace_offer < <(compgen -A signal SIG | cut -c 4-) ;;
	pid)
		for pid in /proc/[0-9]*; do
			_posixtrace_offer <<<"${pid##*/}"
		done
		;;
	events | sources) # a list
		[[ $cur == *,* ]] && before=${cur%,*}, cur=${cur##*,}
		[[ $kind == sources ]] && _posixtrace_offer "$before" < <(_posixtrace_words command files none proc signal syscall %%stat %%statfs %clock %creds %desc %file %fstat %fstatfs %ipc %lstat %memory %net %network %process %pure %signal %stat %statfs)
		[[ $kind == sources && $cur == syscall.* ]] && _posixtrace_offer "$before" < <(_posixtrace_calls)
		[[ $kind == events ]] && _posixtrace_offer "$before" < <(_posixtrace_events)
		compopt -o nospace
		;;
	input) # a stream or a file
		_posixtrace_offer < <(_posixtrace_streams)
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
		((${#COMPREPLY[@]})) && compopt -o filenames
		compopt -o default
		;;
	esac
}

_posixtrace() {
	local program=${1##*/} cur=${COMP_WORDS[COMP_CWORD]}
	local i word kind option='' operands=0 only='' first='' stream=''
	COMPREPLY=()

	# What stands before the word. Bash has made three words of --option=value.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $word == = && $option == --* ]]; then
			option=$option=
		elif [[ $option && ($option == *= || $(_posixtrace_kind "$program" "$option")) ]]; then
			[[ $option == -S || $option == --stream* ]] && stream=$word
			option=
		elif [[ ! $only && $word == -- ]]; then
			only=1 option=
		elif [[ ! $only && $word == --* ]]; then
			option=$word
		elif [[ ! $only && $word == -?* ]]; then
			# The first letter that takes an argument takes the rest, if there is any.
			option=
			for ((; ${#word} > 1; )); do
				word=${word:1}
				if [[ $(_posixtrace_kind "$program" "-${word:0:1}") ]]; then
					[[ ${#word} -eq 1 ]] && option=-$word
					[[ $word == S?* ]] && stream=${word:1}
					break
				fi
			done
		else
			option=
			[[ $operands -eq 0 ]] && first=$word
			((++operands))
			case $program in
			ptrace-run) # from here on it is another command's
				_posixtrace_offset "$i"
				return
				;;
			ptrace-event) return ;;
			esac
		fi
	done

	if [[ $cur == = && $option == --* ]]; then
		option=$option= cur=
	fi
	kind=
	[[ $option ]] && kind=$(_posixtrace_kind "$program" "$option")
	if [[ ! $kind && ! $only && $cur == -* ]]; then
		# shellcheck disable=SC2046 # one word for each option
		_posixtrace_offer < <(_posixtrace_words $(_posixtrace_options "$program"))
		[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
		return
	fi
	if [[ ! $kind ]]; then
		kind=$(_posixtrace_operand "$program")
		case $kind in
		verbs) ((operands)) && kind=stream ;;
		command) _posixtrace_offset "$COMP_CWORD" && return ;;
		esac
		[[ $program == ptrace-filter && $operands -gt 0 ]] && kind=any
	fi
	[[ ! $stream && $program == ptrace-filter ]] && stream=$first
	# shellcheck disable=SC2086 # its words
	_posixtrace_argument $kind
}

# Completion of the command that ptrace-run runs, by bash-completion where it is
# there.
_posixtrace_offset() {
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [[ $1 -eq $COMP_CWORD ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	else
		compopt -o default
	fi
}

# The options of a command.
_posixtrace_options() {
	case $1 in
	ptrace-run) echo '-o --log= --no-clobber --sync -n --name= -c --capture --capture= --pty= -e --events= -y --decode-fds --stack --environment -p --pid= --make -i --inherit= -x --exclude= --stopped --redact= --redact-file= --stream-size= --max-data-size= --stream-full-policy= --log-size= --log-full-policy= --dump= -N --last= -t --timeout= -k --kill-after= -s --signal= --hang= --sample --sample= --foreground --drain= --live --live= --summary --why --report= --undeclared= --strict --color= -h --help -V --version' ;;
	ptrace-create) echo '-p --pid= -e --events= -y --decode-fds --stack --environment -o --log= --no-clobber --sync -i --inherit= -x --exclude= -s --start --redact= --redact-file= --stream-size= --max-data-size= --stream-full-policy= --log-size= --log-full-policy= --export --foreground --color= -h --help -V --version' ;;
	ptrace-ctl) echo '-S --stream= -w --wait --sync -f --force -j --json -p --pid= --stack --reset -q --quiet --stale --color= -h --help -V --version' ;;
	ptrace-filter) echo '-S --stream= -l --list -x --add= -d --sub= -s --set= --only= -r --reset -n --dry-run -i --input= -o --output= --color= -h --help -V --version' ;;
	ptrace-event) echo '-S --stream= -p --pid= -B --begin -E --end -r --run --stdin --lines --lines= --batch --require --shell --shell= --steps --color= -h --help -V --version' ;;
	ptrace-dump) echo '-S --stream= -j --json --csv --table --chrome --format= --golden --strace --annotate= --string-size= --mask= --replay= --symbols --stack --time= -e --events= -x --exclude= -p --pid= -T --tid= --failed --path= --slower-than= --since= --until= --head= -N --last= -f --follow --timeout= -w --wait-for= --cursor= --rewind --peek --strict -s --summary --markdown --sort= --top= --why --why= --html --commands --tree --timeline --folded --junit --files --files= --dot --history= --unused --races --undeclared= -a --attributes --status --types --check --redact= --redact-file= --color= -h --help -V --version' ;;
	ptrace-diff) echo '--old= --new= --threshold= --golden --top= -e --events= -x --exclude= -p --pid= -T --tid= -j --json --table --markdown --html --color= -h --help -V --version' ;;
	ptrace-export) echo '--to= -o --output= --endpoint= --spool= --timeout= --strict -e --events= -x --exclude= -p --pid= -T --tid= --since= --until= --redact= --redact-file= --color= -h --help -V --version' ;;
	esac
}

# What an option takes; nothing for one that takes no argument.
_posixtrace_kind() {
	case $1:$2 in
	ptrace-run:-o | ptrace-run:--log | ptrace-run:--log=) echo 'file' ;;
	ptrace-run:-n | ptrace-run:--name | ptrace-run:--name=) echo 'any' ;;
	ptrace-run:--capture=) echo 'words out err out,err' ;;
	ptrace-run:--pty | ptrace-run:--pty=) echo 'words auto yes no' ;;
	ptrace-run:-e | ptrace-run:--events | ptrace-run:--events=) echo 'sources' ;;
	ptrace-run:-p | ptrace-run:--pid | ptrace-run:--pid=) echo 'pid' ;;
	ptrace-run:-i | ptrace-run:--inherit | ptrace-run:--inherit=) echo 'words yes no' ;;
	ptrace-run:-x | ptrace-run:--exclude | ptrace-run:--exclude=) echo 'events' ;;
	ptrace-run:--redact | ptrace-run:--redact=) echo 'any' ;;
	ptrace-run:--redact-file | ptrace-run:--redact-file=) echo 'file' ;;
	ptrace-run:--stream-size | ptrace-run:--stream-size=) echo 'any' ;;
	ptrace-run:--max-data-size | ptrace-run:--max-data-size=) echo 'any' ;;
	ptrace-run:--stream-full-policy | ptrace-run:--stream-full-policy=) echo 'words loop until-full flush' ;;
	ptrace-run:--log-size | ptrace-run:--log-size=) echo 'any' ;;
	ptrace-run:--log-full-policy | ptrace-run:--log-full-policy=) echo 'words append until-full loop' ;;
	ptrace-run:--dump | ptrace-run:--dump=) echo 'words fail always never' ;;
	ptrace-run:-N | ptrace-run:--last | ptrace-run:--last=) echo 'any' ;;
	ptrace-run:-t | ptrace-run:--timeout | ptrace-run:--timeout=) echo 'any' ;;
	ptrace-run:-k | ptrace-run:--kill-after | ptrace-run:--kill-after=) echo 'any' ;;
	ptrace-run:-s | ptrace-run:--signal | ptrace-run:--signal=) echo 'signal' ;;
	ptrace-run:--hang | ptrace-run:--hang=) echo 'any' ;;
	ptrace-run:--sample=) echo 'any' ;;
	ptrace-run:--drain | ptrace-run:--drain=) echo 'any' ;;
	ptrace-run:--live=) echo 'file' ;;
	ptrace-run:--report | ptrace-run:--report=) echo 'file' ;;
	ptrace-run:--undeclared | ptrace-run:--undeclared=) echo 'file' ;;
	ptrace-run:--color | ptrace-run:--color=) echo 'words auto always never' ;;
	ptrace-create:-p | ptrace-create:--pid | ptrace-create:--pid=) echo 'pid' ;;
	ptrace-create:-e | ptrace-create:--events | ptrace-create:--events=) echo 'sources' ;;
	ptrace-create:-o | ptrace-create:--log | ptrace-create:--log=) echo 'file' ;;
	ptrace-create:-i | ptrace-create:--inherit | ptrace-create:--inherit=) echo 'words yes no' ;;
	ptrace-create:-x | ptrace-create:--exclude | ptrace-create:--exclude=) echo 'events' ;;
	ptrace-create:--redact | ptrace-create:--redact=) echo 'any' ;;
	ptrace-create:--redact-file | ptrace-create:--redact-file=) echo 'file' ;;
	ptrace-create:--stream-size | ptrace-create:--stream-size=) echo 'any' ;;
	ptrace-create:--max-data-size | ptrace-create:--max-data-size=) echo 'any' ;;
	ptrace-create:--stream-full-policy | ptrace-create:--stream-full-policy=) echo 'words loop until-full flush' ;;
	ptrace-create:--log-size | ptrace-create:--log-size=) echo 'any' ;;
	ptrace-create:--log-full-policy | ptrace-create:--log-full-policy=) echo 'words append until-full loop' ;;
	ptrace-create:--color | ptrace-create:--color=) echo 'words auto always never' ;;
	ptrace-ctl:-S | ptrace-ctl:--stream | ptrace-ctl:--stream=) echo 'stream' ;;
	ptrace-ctl:-p | ptrace-ctl:--pid | ptrace-ctl:--pid=) echo 'pid' ;;
	ptrace-ctl:--color | ptrace-ctl:--color=) echo 'words auto always never' ;;
	ptrace-filter:-S | ptrace-filter:--stream | ptrace-filter:--stream=) echo 'stream' ;;
	ptrace-filter:-x | ptrace-filter:--add | ptrace-filter:--add=) echo 'events' ;;
	ptrace-filter:-d | ptrace-filter:--sub | ptrace-filter:--sub=) echo 'events' ;;
	ptrace-filter:-s | ptrace-filter:--set | ptrace-filter:--set=) echo 'events' ;;
	ptrace-filter:--only | ptrace-filter:--only=) echo 'events' ;;
	ptrace-filter:-i | ptrace-filter:--input | ptrace-filter:--input=) echo 'file' ;;
	ptrace-filter:-o | ptrace-filter:--output | ptrace-filter:--output=) echo 'file' ;;
	ptrace-filter:--color | ptrace-filter:--color=) echo 'words auto always never' ;;
	ptrace-event:-S | ptrace-event:--stream | ptrace-event:--stream=) echo 'stream' ;;
	ptrace-event:-p | ptrace-event:--pid | ptrace-event:--pid=) echo 'pid' ;;
	ptrace-event:--lines=) echo 'words tee' ;;
	ptrace-event:--shell=) echo 'words sh bash zsh' ;;
	ptrace-event:--color | ptrace-event:--color=) echo 'words auto always never' ;;
	ptrace-dump:-S | ptrace-dump:--stream | ptrace-dump:--stream=) echo 'stream' ;;
	ptrace-dump:--format | ptrace-dump:--format=) echo 'any' ;;
	ptrace-dump:--annotate | ptrace-dump:--annotate=) echo 'words rel abs delta cost' ;;
	ptrace-dump:--string-size | ptrace-dump:--string-size=) echo 'any' ;;
	ptrace-dump:--mask | ptrace-dump:--mask=) echo 'any' ;;
	ptrace-dump:--replay | ptrace-dump:--replay=) echo 'any' ;;
	ptrace-dump:--time | ptrace-dump:--time=) echo 'words rel abs unix delta none' ;;
	ptrace-dump:-e | ptrace-dump:--events | ptrace-dump:--events=) echo 'events' ;;
	ptrace-dump:-x | ptrace-dump:--exclude | ptrace-dump:--exclude=) echo 'events' ;;
	ptrace-dump:-p | ptrace-dump:--pid | ptrace-dump:--pid=) echo 'pid' ;;
	ptrace-dump:-T | ptrace-dump:--tid | ptrace-dump:--tid=) echo 'any' ;;
	ptrace-dump:--path | ptrace-dump:--path=) echo 'file' ;;
	ptrace-dump:--slower-than | ptrace-dump:--slower-than=) echo 'any' ;;
	ptrace-dump:--since | ptrace-dump:--since=) echo 'any' ;;
	ptrace-dump:--until | ptrace-dump:--until=) echo 'any' ;;
	ptrace-dump:--head | ptrace-dump:--head=) echo 'any' ;;
	ptrace-dump:-N | ptrace-dump:--last | ptrace-dump:--last=) echo 'any' ;;
	ptrace-dump:--timeout | ptrace-dump:--timeout=) echo 'any' ;;
	ptrace-dump:-w | ptrace-dump:--wait-for | ptrace-dump:--wait-for=) echo 'events' ;;
	ptrace-dump:--cursor | ptrace-dump:--cursor=) echo 'file' ;;
	ptrace-dump:--sort | ptrace-dump:--sort=) echo 'words name time count failed wall self cpu memory p50 p95 max mean total pause bytes' ;;
	ptrace-dump:--top | ptrace-dump:--top=) echo 'any' ;;
	ptrace-dump:--why=) echo 'any' ;;
	ptrace-dump:--files=) echo 'any' ;;
	ptrace-dump:--history | ptrace-dump:--history=) echo 'file' ;;
	ptrace-dump:--undeclared | ptrace-dump:--undeclared=) echo 'file' ;;
	ptrace-dump:--redact | ptrace-dump:--redact=) echo 'any' ;;
	ptrace-dump:--redact-file | ptrace-dump:--redact-file=) echo 'file' ;;
	ptrace-dump:--color | ptrace-dump:--color=) echo 'words auto always never' ;;
	ptrace-diff:--old | ptrace-diff:--old=) echo 'file' ;;
	ptrace-diff:--new | ptrace-diff:--new=) echo 'file' ;;
	ptrace-diff:--threshold | ptrace-diff:--threshold=) echo 'any' ;;
	ptrace-diff:--top | ptrace-diff:--top=) echo 'any' ;;
	ptrace-diff:-e | ptrace-diff:--events | ptrace-diff:--events=) echo 'events' ;;
	ptrace-diff:-x | ptrace-diff:--exclude | ptrace-diff:--exclude=) echo 'events' ;;
	ptrace-diff:-p | ptrace-diff:--pid | ptrace-diff:--pid=) echo 'pid' ;;
	ptrace-diff:-T | ptrace-diff:--tid | ptrace-diff:--tid=) echo 'any' ;;
	ptrace-diff:--color | ptrace-diff:--color=) echo 'words auto always never' ;;
	ptrace-export:--to | ptrace-export:--to=) echo 'words ctf otlp parquet compile-commands' ;;
	ptrace-export:-o | ptrace-export:--output | ptrace-export:--output=) echo 'file' ;;
	ptrace-export:--endpoint | ptrace-export:--endpoint=) echo 'any' ;;
	ptrace-export:--spool | ptrace-export:--spool=) echo 'any' ;;
	ptrace-export:--timeout | ptrace-export:--timeout=) echo 'any' ;;
	ptrace-export:-e | ptrace-export:--events | ptrace-export:--events=) echo 'events' ;;
	ptrace-export:-x | ptrace-export:--exclude | ptrace-export:--exclude=) echo 'events' ;;
	ptrace-export:-p | ptrace-export:--pid | ptrace-export:--pid=) echo 'pid' ;;
	ptrace-export:-T | ptrace-export:--tid | ptrace-export:--tid=) echo 'any' ;;
	ptrace-export:--since | ptrace-export:--since=) echo 'any' ;;
	ptrace-export:--until | ptrace-export:--until=) echo 'any' ;;
	ptrace-export:--redact | ptrace-export:--redact=) echo 'any' ;;
	ptrace-export:--redact-file | ptrace-export:--redact-file=) echo 'file' ;;
	ptrace-export:--color | ptrace-export:--color=) echo 'words auto always never' ;;
	esac
}

_posixtrace_operand() {
	case $1 in
	ptrace-run) echo command ;;
	ptrace-create) echo any ;;
	ptrace-ctl) echo verbs ;;
	ptrace-filter) echo stream ;;
	ptrace-event) echo event ;;
	ptrace-dump) echo input ;;
	ptrace-diff) echo file ;;
	ptrace-export) echo file ;;
	esac
}

complete -F _posixtrace ptrace-run ptrace-create ptrace-ctl ptrace-filter ptrace-event ptrace-dump ptrace-diff ptrace-export
