# shellcheck shell=bash
# Trace points for bash, see ptrace-event(1). Each call appends one line to the file
# $PTRACE_SPOOL. The functions close descriptor 2, which hides error messages and the output of
# set -x. They also close the descriptor of BASH_XTRACEFD: bash expands the words of a redirection,
# and thus sets _pt_fd, before it traces a command; 1023 stands for none. bash then traces to descriptor 2, until the
# variable is set again: the last thing that a function does. The script may have its own functions
# and aliases for builtins, and set -k, with which "local x=1" sets no variable.
builtin : "${_pt_event:=ptrace-event}" "${EPOCHREALTIME=}"
_pt_fast='' _pt_left=0 _pt_lost=0 _pt_shut='' _pt_spool='' _pt_span='' _pt_spans=0 _pt_odd=''

# One pattern detects all special cases: BASH_XTRACEFD, a status to keep, the number of operands, an
# empty or long name, long data (lengths are in characters, of up to four bytes), bytes to escape, and
# the size of a spool without an active consumer. To close BASH_XTRACEFD takes time, and here the
# function only sets it; as bash leaks memory then, _pt_slowly replaces the function.
pt() {
	case ${BASH_XTRACEFD:+x}$?$#,${1+${#1}}$_pt_fast${2+${#2}}:${1-}${2-} in
	0[12],[1-9]f[0-9][0-9][0-9][0-9]* | 0[12],[1-9][0-9]f[0-9][0-9][0-9][0-9]* | 0[12],[1-9][0-9]f9[0-9][0-9]:* | *[[:cntrl:]\"\\]*) _pt_slowly "$?" "$@" ;;
	0[12],[1-9]f* | 0[12],[1-9][0-9]f*)
		case ${PTRACE_SPOOL-} in
		"$_pt_spool") builtin echo "$1	$$	$EPOCHREALTIME	${2-}" >>"$_pt_spool" || : ;;
		*) _pt_slowly 0 "$@" ;;
		esac
		;;
	*) _pt_slowly "$?" "$@" ;;
	esac
} 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})&&(BASH_XTRACEFD=2)]-}}-"

# _pt_slowly STATUS NAME [DATA]... is pt for any arguments, after a command with this
# status.
_pt_slowly() {
	builtin local IFS _pt_s _pt_n
	IFS=' ' _pt_s=$1 _pt_n=${2-}
	builtin shift "$(($# > 1 ? 2 : 1))"
	[[ -z ${PTRACE_SPOOL-} ]] || _pt_line "$_pt_n" "$$" "$*" || :
	# With set -e, keeping the status would end the script after "cmd || pt failed".
	[[ ! -o errexit ]] || _pt_s=0
	[[ -z ${BASH_XTRACEFD-} ]] || _pt_closing
	_pt_traced "$_pt_s"
}

# shellcheck disable=SC2317 # used later
_pt_closing() {
	pt() {
		{ _pt_slowly "$?" "$@"; } {_pt_fd}>&-
		_pt_traced "$?"
	} 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-"
}

# _pt_traced STATUS, the last command of a function, returns the status. If BASH_XTRACEFD is set, nothing
# may be traced after that variable is set again.
# shellcheck disable=SC2188 # only the words count
_pt_traced() {
	case ${BASH_XTRACEFD:+$_pt_fd}:$1 in
	:* | 0:* | 1023:*) return "$1" ;;
	*:0) 1023>&"${_pt_no[BASH_XTRACEFD=_pt_fd]-}-" ;;
	*) 1023>&"$(exit "$1")${_pt_no[BASH_XTRACEFD=_pt_fd]-}-" ;;
	esac
}

# _pt_known succeeds if $PTRACE_SPOOL is the spool of a stream. The functions write to no other
# file and create none.
_pt_known() {
	[[ $PTRACE_SPOOL != "$_pt_spool" ]] || return 0
	builtin local _pt_dir _pt_name _pt_word
	_pt_dir=${PTRACE_SPOOL%/*} _pt_name=${PTRACE_SPOOL##*/} _pt_word=''
	_pt_spool='' _pt_left=0 _pt_shut='' _pt_fast=''
	[[ $_pt_dir == /*/l-?* && ${_pt_dir##*/} == l-?* && ! -L $_pt_dir && -f ${_pt_dir%/*}/s-${_pt_dir##*/l-} ]] || return
	[[ $_pt_name == spool || $_pt_name == spool.[1-9]* && ${_pt_name#spool.} != *[!0-9]* ]] || return
	[[ -f $PTRACE_SPOOL && ! -L $PTRACE_SPOOL && -f $_pt_dir/state && ! -L $_pt_dir/state ]] || return
	IFS='' builtin read -r _pt_word <"$_pt_dir/state" || :
	[[ -z $_pt_word || $_pt_word == 'ptrace-spool '* ]] || return
	_pt_spool=$PTRACE_SPOOL
}

# _pt_line NAME PID DATA appends a line.
_pt_line() {
	_pt_known || return
	builtin local _pt_n _pt_d _pt_t _pt_bytes _pt_c _pt_h
	_pt_n=$1 _pt_d=$3 _pt_t=$EPOCHREALTIME _pt_bytes=4040
	# Once bash has written to a terminal it writes in pieces of 1024 bytes, and only a single
	# write cannot mix with the writes of other processes.
	[[ ! -t 1 && ! -t 2 && $_pt_fast != f0 ]] || _pt_bytes=980
	if [[ -n $_pt_shut ]]; then
		# The spool is full: only report the number of lost events from time to time.
		_pt_left=0 _pt_lost=$((_pt_lost + 1))
		((_pt_lost >= 64)) || return 0
		_pt_n='' _pt_t='' _pt_d=$_pt_lost _pt_lost=0
	elif [[ -z $_pt_n || ${#_pt_n} -gt 255 || $_pt_n == *[$'\t\n']* ]]; then
		_pt_n='' _pt_d=1 # an invalid name: the event is lost
	elif [[ ${#_pt_d} -gt 150 || $_pt_d == *[[:cntrl:]\"\\]* ]]; then
		builtin local LC_ALL
		LC_ALL=C
		_pt_d=${_pt_d:0:4096}
		_pt_d=${_pt_d//\\/\\\\}
		_pt_d=${_pt_d//\"/\\\"}
		_pt_d=${_pt_d//$'\n'/\\n}
		_pt_d=${_pt_d//$'\t'/\\t}
		while [[ $_pt_d == *[[:cntrl:]]* ]]; do
			_pt_c=${_pt_d#"${_pt_d%%[[:cntrl:]]*}"}
			_pt_c=${_pt_c:0:1}
			builtin printf -v _pt_h '\\x%02x' "'$_pt_c"
			_pt_d=${_pt_d//"$_pt_c"/"$_pt_h"}
		done
		# Only from here on are lengths in bytes.
		if ((${#_pt_n} > 255)); then
			_pt_n='' _pt_d=1
		fi
		_pt_d=${_pt_d:0:_pt_bytes - ${#_pt_n}}
	fi
	if ((_pt_left-- > 0)); then
		builtin printf '%s\t%s\t%s\t%s\n' "$_pt_n" "$2" "$_pt_t" "$_pt_d" >>"$PTRACE_SPOOL"
	else
		_pt_measured "$_pt_n" "$2" "$_pt_t" "$_pt_d"
	fi
}

# _pt_measured NAME PID TIME DATA appends a line. It checks the size of the spool if
# the spool's name says that the stream's owner does not.
_pt_measured() {
	builtin local IFS _pt_key _pt_pos _pt_max _pt_x
	IFS=$' \t' _pt_max=${PTRACE_SPOOL##*.} _pt_x=$-
	# BASH_XTRACEFD may be 1.
	builtin set +x
	{
		builtin printf '%s\t%s\t%s\t%s\n' "$@"
		# After an append the position is the size of the file.
		builtin read -r _pt_key _pt_pos </proc/self/fdinfo/1
	} >>"$PTRACE_SPOOL" || _pt_pos=x
	[[ $_pt_x != *x* ]] || builtin set -x
	[[ $_pt_pos != x ]] || return
	_pt_left=63 _pt_shut=''
	if [[ $_pt_max == *[!0-9]* ]]; then
		_pt_fast=f
		[[ ! -t 1 && ! -t 2 ]] || _pt_fast=f0 # makes 100 a number of four digits
	elif [[ $_pt_key == pos: && $_pt_pos == [1-9]* ]] && ((_pt_pos > _pt_max / 2)); then
		# No consumer is active: start one.
		if ! command "$_pt_event" --take-spool </dev/null >/dev/null 2>&1 && ((_pt_pos > _pt_max)); then
			_pt_left=0 _pt_shut=1
		fi
	fi
}

pt_begin() {
	{ pt "${1-}.begin" "${@:2}"; } {_pt_fd}>&-
	_pt_traced "$?"
} 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-"

pt_end() {
	{ pt "${1-}.end" "${@:2}"; } {_pt_fd}>&-
	_pt_traced "$?"
} 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-"

# pt_step NAME CMD... runs CMD in a span. With set -e, a failure within a
# function must still end the script.
pt_step() {
	if {
		{
			builtin local _pt_s _pt_around _pt_t _pt_with _pt_before _pt_name
			_pt_s=0 _pt_around=${_pt_step_open:-$_pt_span} _pt_t='' _pt_before=${TRACEPARENT-} _pt_name=${1-}
			builtin local _pt_span
			_pt_span=$BASHPID.$((++_pt_spans))
			_pt_with=${_pt_around:+:$_pt_around}
			if [[ -n $_pt_before ]] && _pt_context; then
				TRACEPARENT=$_pt_t
			fi
			_pt_keyed "$_pt_name.begin" "$_pt_span$_pt_with" ''
			[[ -o errexit ]] && { builtin declare -F -- "${2-}" >/dev/null || [[ ${2-} == @(eval|source|.|builtin|command) ]]; }
		} {_pt_fd}>&-
		_pt_traced "$?"
	} 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-"; then
		"${@:2}"
		{ { _pt_s=$?; } {_pt_fd}>&-; _pt_traced 0; } 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-"
	else
		"${@:2}" || { { _pt_s=$?; } {_pt_fd}>&-; _pt_traced 0; } 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-"
	fi
	{
		{
			# The command may have changed it.
			if [[ -n $_pt_t && ${TRACEPARENT-} == "$_pt_t" ]]; then
				TRACEPARENT=$_pt_before
			fi
			_pt_keyed "$_pt_name.end" "$_pt_span" "$_pt_s"
		} {_pt_fd}>&-
		[[ -n ${BASH_XTRACEFD-} ]] || return "$_pt_s"
		_pt_traced "$_pt_s"
	} 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-"
}

# _pt_context makes the trace context of a new span: it sets _pt_t to the value of TRACEPARENT, and adds
# the context to _pt_with. It fails if the value that came in is malformed or cannot be replaced, or if
# no stream would record the context.
_pt_context() {
	[[ -n ${PTRACE_SPOOL-} ]] && _pt_known || return
	builtin local IFS LC_ALL _pt_v _pt_h _pt_r _pt_x
	IFS=' ' LC_ALL=C _pt_v=$TRACEPARENT _pt_h='[0123456789abcdef]' _pt_r=''
	_pt_x=$_pt_h$_pt_h$_pt_h$_pt_h$_pt_h$_pt_h$_pt_h$_pt_h
	if [[ $_pt_v != $_pt_h$_pt_h-$_pt_x$_pt_x$_pt_x$_pt_x-$_pt_x$_pt_x-$_pt_h$_pt_h?(-*) || $_pt_v == ff* || $_pt_v == 00* && ${#_pt_v} -ne 55 ||
		${_pt_v:3:32} != *[!0]* || ${_pt_v:36:16} != *[!0]* ]]; then
		if [[ -z $_pt_odd ]]; then
			_pt_odd=1
			pt tracecontext.malformed "TRACEPARENT=$_pt_v"
		fi
		return 1
	fi
	builtin read -r _pt_r </proc/sys/kernel/random/uuid || return
	_pt_r=${_pt_r:0:8}${_pt_r:28:8}
	[[ $_pt_r == $_pt_x$_pt_x && $_pt_r == *[!0]* ]] || return
	_pt_x=${TRACESTATE-}
	[[ ${#_pt_x} -le 512 && $_pt_x != *[![:print:]]* ]] || _pt_x=''
	(TRACEPARENT='') || return # readonly
	builtin printf -v _pt_t '00-%s-%s-0%d' "${_pt_v:3:32}" "$_pt_r" "$((16#${_pt_v:53:2} & 3))" # reserved flags are not passed on
	_pt_with=:$_pt_around:$_pt_t:${_pt_v:36:16}:$_pt_x
} 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-" {_pt_fd}>&-

# _pt_keyed NAME KEY DATA records an event of a span with a key. Background jobs may have spans
# of the same name at the same time.
_pt_keyed() {
	[[ -z ${PTRACE_SPOOL-} ]] || _pt_line "$1" "$$:$2" "$3" || :
} 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-" {_pt_fd}>&-
