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
    if test (path basename -- $words[1]) = ptrace-dump
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
    printf '%s\n' @user @system @all
    __posixtrace_types
end

function __posixtrace_sources
    printf '%s\n' command proc signal syscall none
end

# Whether PROGRAM:OPTION takes the next word.
function __posixtrace_takes
    contains -- $argv[1] \
        ptrace-run:--log ptrace-run:-o \
        ptrace-run:--name ptrace-run:-n \
        ptrace-run:--pty \
        ptrace-run:--events ptrace-run:-e \
        ptrace-run:--inherit ptrace-run:-i \
        ptrace-run:--exclude ptrace-run:-x \
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
        ptrace-run:--drain \
        ptrace-run:--color \
        ptrace-create:--pid ptrace-create:-p \
        ptrace-create:--log ptrace-create:-o \
        ptrace-create:--inherit ptrace-create:-i \
        ptrace-create:--exclude ptrace-create:-x \
        ptrace-create:--stream-size \
        ptrace-create:--max-data-size \
        ptrace-create:--stream-full-policy \
        ptrace-create:--log-size \
        ptrace-create:--log-full-policy \
        ptrace-create:--color \
        ptrace-ctl:--stream ptrace-ctl:-S \
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
        ptrace-dump:--mask \
        ptrace-dump:--annotate \
        ptrace-dump:--replay \
        ptrace-dump:--time \
        ptrace-dump:--events ptrace-dump:-e \
        ptrace-dump:--exclude ptrace-dump:-x \
        ptrace-dump:--pid ptrace-dump:-p \
        ptrace-dump:--tid ptrace-dump:-T \
        ptrace-dump:--since \
        ptrace-dump:--until \
        ptrace-dump:--head \
        ptrace-dump:--last ptrace-dump:-N \
        ptrace-dump:--timeout \
        ptrace-dump:--wait-for ptrace-dump:-w \
        ptrace-dump:--cursor \
        ptrace-dump:--color
end

complete -c ptrace-run -e
complete -c ptrace-run -n __posixtrace_before_operand -s o -l log -r -F -d 'record to LOG, replacing an existing regular file'
complete -c ptrace-run -n __posixtrace_before_operand -l no-clobber -d 'do not replace an existing regular file'
complete -c ptrace-run -n __posixtrace_before_operand -l sync -d 'bring the log to its device with each flush and at the end, so that it outlives a loss of power'
complete -c ptrace-run -n __posixtrace_before_operand -s n -l name -r -f -d 'name of the stream'
complete -c ptrace-run -n __posixtrace_before_operand -s c -l capture -f -a 'out err out,err' -d 'record the command\'s output line by line, passing it through unchanged; SET of out,err: only that, or both apart'
complete -c ptrace-run -n __posixtrace_before_operand -l pty -r -f -a 'auto yes no' -d 'capture through a pseudo-terminal (auto)'
complete -c ptrace-run -n __posixtrace_before_operand -s e -l events -r -f -a '(__fish_complete_list , __posixtrace_sources)' -d 'record beside user events: command (the start and the end of COMMAND; default), none, or what ptrace(2) tells of all its processes: proc, signal, syscall, syscall.NAME'
complete -c ptrace-run -n __posixtrace_before_operand -s i -l inherit -r -f -a 'yes no' -d 'trace the command\'s children too (yes)'
complete -c ptrace-run -n __posixtrace_before_operand -s x -l exclude -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'reject these events from the beginning'
complete -c ptrace-run -n __posixtrace_before_operand -l stopped -d 'create the stream suspended; ptrace-ctl start starts it'
complete -c ptrace-run -n __posixtrace_before_operand -l stream-size -r -f -d 'size of the stream in memory (1M)'
complete -c ptrace-run -n __posixtrace_before_operand -l max-data-size -r -f -d 'keep at most this much data of an event (4K)'
complete -c ptrace-run -n __posixtrace_before_operand -l stream-full-policy -r -f -a 'loop until-full flush' -d 'what happens when the stream is full (flush with a log, else loop)'
complete -c ptrace-run -n __posixtrace_before_operand -l log-size -r -f -d 'size of the log for the policies loop and until-full'
complete -c ptrace-run -n __posixtrace_before_operand -l log-full-policy -r -f -a 'append until-full loop' -d 'what happens when the log is full (append: it never is)'
complete -c ptrace-run -n __posixtrace_before_operand -l dump -r -f -a 'fail always never' -d 'without --log: print the last events to standard error (fail)'
complete -c ptrace-run -n __posixtrace_before_operand -s N -l last -r -f -d 'how many events --dump prints (50)'
complete -c ptrace-run -n __posixtrace_before_operand -s t -l timeout -r -f -d 'end the command after DUR'
complete -c ptrace-run -n __posixtrace_before_operand -s k -l kill-after -r -f -d 'kill it if it still runs DUR later'
complete -c ptrace-run -n __posixtrace_before_operand -s s -l signal -r -f -a '(kill -l | string split " ")' -d 'end it with SIG (TERM)'
complete -c ptrace-run -n __posixtrace_before_operand -l drain -r -f -d 'go on recording processes that hold the command\'s output after its end for DUR (2s)'
complete -c ptrace-run -n __posixtrace_before_operand -l summary -d 'print counts, rates and span durations on standard error at the end'
complete -c ptrace-run -n __posixtrace_before_operand -l strict -d 'status 1 if the command succeeded but an event was lost or the log could not be written'
complete -c ptrace-run -n __posixtrace_before_operand -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-run -n __posixtrace_before_operand -s h -l help -d 'show this help and exit'
complete -c ptrace-run -n __posixtrace_before_operand -s V -l version -d 'show the version and exit'
complete -c ptrace-run -x -a '(__fish_complete_subcommand --fcs-skip=1)'

complete -c ptrace-create -e
complete -c ptrace-create -s p -l pid -r -f -a '(__fish_complete_pids)' -d 'trace this process (default: the script that runs the command)'
complete -c ptrace-create -s o -l log -r -F -d 'record to LOG, replacing an existing regular file'
complete -c ptrace-create -l no-clobber -d 'do not replace an existing regular file'
complete -c ptrace-create -l sync -d 'bring the log to its device with each flush and at the end, so that it outlives a loss of power'
complete -c ptrace-create -s i -l inherit -r -f -a 'yes no' -d 'trace the process\'s children too (yes)'
complete -c ptrace-create -s x -l exclude -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'reject these events from the beginning'
complete -c ptrace-create -s s -l start -d 'start recording at once (else ptrace-ctl start does)'
complete -c ptrace-create -l stream-size -r -f -d 'size of the stream in memory (1M)'
complete -c ptrace-create -l max-data-size -r -f -d 'keep at most this much data of an event (4K)'
complete -c ptrace-create -l stream-full-policy -r -f -a 'loop until-full flush' -d 'what happens when the stream is full (flush with a log, else loop)'
complete -c ptrace-create -l log-size -r -f -d 'size of the log for the policies loop and until-full'
complete -c ptrace-create -l log-full-policy -r -f -a 'append until-full loop' -d 'what happens when the log is full (append: it never is)'
complete -c ptrace-create -l export -d 'print shell code that exports PTRACE_STREAM and PTRACE_SPOOL, for eval'
complete -c ptrace-create -l foreground -d 'stay, and shut the stream down on INT or TERM'
complete -c ptrace-create -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-create -s h -l help -d 'show this help and exit'
complete -c ptrace-create -s V -l version -d 'show the version and exit'
complete -c ptrace-create -f

complete -c ptrace-ctl -e
complete -c ptrace-ctl -s S -l stream -r -f -a '(__posixtrace_streams)' -d 'the stream (else the operands, else $PTRACE_STREAM)'
complete -c ptrace-ctl -s w -l wait -d 'flush: wait until it is done and report its error'
complete -c ptrace-ctl -l sync -d 'flush: wait until the log is on its device'
complete -c ptrace-ctl -s f -l force -d 'shutdown: a stream that does not exist is no error'
complete -c ptrace-ctl -s j -l json -d 'status, list: one JSON object for each stream'
complete -c ptrace-ctl -l reset -d 'status: reset the overrun and error members, as posix_trace_get_status does'
complete -c ptrace-ctl -s q -l quiet -d 'list: only names, or paths where a name is not unique'
complete -c ptrace-ctl -l stale -d 'list: only stale streams, whose process has ended'
complete -c ptrace-ctl -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-ctl -s h -l help -d 'show this help and exit'
complete -c ptrace-ctl -s V -l version -d 'show the version and exit'
complete -c ptrace-ctl -f -n __posixtrace_before_operand -a 'start stop clear flush shutdown status list'
complete -c ptrace-ctl -f -n 'not __posixtrace_before_operand' -a '(__posixtrace_streams)'

complete -c ptrace-filter -e
complete -c ptrace-filter -s S -l stream -r -f -a '(__posixtrace_streams)' -d 'the stream (else the operand, else $PTRACE_STREAM)'
complete -c ptrace-filter -s l -l list -d 'list all known types, marked \'-\' when rejected'
complete -c ptrace-filter -s x -l add -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'reject SET too'
complete -c ptrace-filter -s d -l sub -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'accept SET again'
complete -c ptrace-filter -s s -l set -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'reject exactly SET'
complete -c ptrace-filter -l only -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'accept only SET'
complete -c ptrace-filter -s r -l reset -d 'reject nothing'
complete -c ptrace-filter -s n -l dry-run -d 'print the result and change nothing'
complete -c ptrace-filter -s i -l input -r -F -d 'filter the events of a log, not a stream; - is standard input'
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
complete -c ptrace-event -n __posixtrace_before_operand -l stdin -d 'the data is standard input'
complete -c ptrace-event -n __posixtrace_before_operand -l lines -f -a 'tee' -d 'one event for each line of standard input; tee: and copy it to standard output'
complete -c ptrace-event -n __posixtrace_before_operand -l batch -d 'one event for each line \'NAME TAB DATA\' of standard input'
complete -c ptrace-event -n __posixtrace_before_operand -l require -d 'status 1 if no running stream took the event'
complete -c ptrace-event -n __posixtrace_before_operand -l shell -f -a 'sh bash zsh' -d 'print functions for eval that record without starting a program: pt NAME [DATA], pt_begin, pt_end, pt_step NAME CMD...'
complete -c ptrace-event -n __posixtrace_before_operand -l steps -d 'with --shell=bash: also a span for each command of the script'
complete -c ptrace-event -n __posixtrace_before_operand -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-event -n __posixtrace_before_operand -s h -l help -d 'show this help and exit'
complete -c ptrace-event -n __posixtrace_before_operand -s V -l version -d 'show the version and exit'
complete -c ptrace-event -f -n __posixtrace_before_operand -a '(__posixtrace_types)'

complete -c ptrace-dump -e
complete -c ptrace-dump -s S -l stream -r -f -a '(__posixtrace_streams)' -d 'read this active stream (else the operands, else $PTRACE_STREAM)'
complete -c ptrace-dump -s j -l json -d 'one JSON object for each event'
complete -c ptrace-dump -l csv -d 'comma-separated values, with a line of column names first'
complete -c ptrace-dump -l table -d 'a table, as wide as the terminal'
complete -c ptrace-dump -l chrome -d 'trace-event JSON for timeline viewers; NAME.begin to NAME.end is a slice'
complete -c ptrace-dump -l format -r -f -d 'text as FMT says: %t time, %D delta, %p pid, %i tid, %n name, %d data, %x data in hexadecimal, %a address, %c class, %q number, %k span, %K parent span, %% \\n \\t'
complete -c ptrace-dump -l golden -d 'text, or with -j JSON, that is the same each time a program does the same: P1, T1 for processes and threads, no times; also with --format'
complete -c ptrace-dump -l mask -r -f -d 'with --golden: replace what varies in data, a regular expression, @tmp, @pid or @date; may be repeated'
complete -c ptrace-dump -l annotate -r -f -a 'rel abs delta' -d 'captured output, with a time before each line: rel, abs or delta'
complete -c ptrace-dump -l replay -r -f -d 'take the time that it took, divided by SPEED; captured output, if no other form is asked for'
complete -c ptrace-dump -l time -r -f -a 'rel abs delta none' -d 'times in text: rel (seconds since the first event), abs, delta or none'
complete -c ptrace-dump -s e -l events -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'only these events: names, globs, @user, @system, @all'
complete -c ptrace-dump -s x -l exclude -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'all but these events'
complete -c ptrace-dump -s p -l pid -r -f -a '(__fish_complete_pids)' -d 'only events of this process'
complete -c ptrace-dump -s T -l tid -r -f -d 'only events of this thread'
complete -c ptrace-dump -l since -r -f -d 'only events from then on: RFC 3339, HH:MM:SS, +1.5s from the first event, -30s from the last'
complete -c ptrace-dump -l until -r -f -d 'only events before then'
complete -c ptrace-dump -l head -r -f -d 'only the first N events'
complete -c ptrace-dump -s N -l last -r -f -d 'only the last N events'
complete -c ptrace-dump -s f -l follow -d 'go on as events are recorded, until the stream ends'
complete -c ptrace-dump -l timeout -r -f -d 'follow no longer than this'
complete -c ptrace-dump -s w -l wait-for -r -f -a '(__fish_complete_list , __posixtrace_sets)' -d 'follow until one of these events: status 0; 1 if time or stream ends first'
complete -c ptrace-dump -l cursor -r -F -d 'show what came after the last event shown, and remember that in FILE; consumes nothing'
complete -c ptrace-dump -l rewind -d 'with --cursor: start again from the oldest event'
complete -c ptrace-dump -l peek -d 'never consume the events of a stream without log'
complete -c ptrace-dump -s s -l summary -d 'counts and rates of event types, durations of spans (NAME.begin to NAME.end)'
complete -c ptrace-dump -s a -l attributes -d 'the attributes of the stream'
complete -c ptrace-dump -l status -d 'the status of the stream'
complete -c ptrace-dump -l types -d 'the event types of the stream'
complete -c ptrace-dump -l check -d 'verify the whole log and say what is wrong'
complete -c ptrace-dump -l strict -d 'status 1 if any event was lost'
complete -c ptrace-dump -l color -r -f -a 'auto always never' -d 'use colour: auto, always or never'
complete -c ptrace-dump -s h -l help -d 'show this help and exit'
complete -c ptrace-dump -s V -l version -d 'show the version and exit'
complete -c ptrace-dump -F -a '(__posixtrace_streams)'
