# shellcheck shell=bash
# Trace points for bash, see ptrace-event(1). Each call appends one line to the file
# $PTRACE_SPOOL. Descriptor 2 is closed in the functions, which hides error messages
# and the output of set -x.
: "${_pt_event:=ptrace-event}" "${EPOCHREALTIME=}"
_pt_fast='' _pt_left=0 _pt_lost=0 _pt_shut='' _pt_spool='' _pt_span='' _pt_spans=0 _pt_odd=''

# One pattern detects all special cases: a status to keep, the number of operands, an empty or
# long name, long data (lengths are in characters, of up to four bytes), bytes to escape, and
# the size of a spool without an active consumer.
pt() {
	case $?$#,${1+${#1}}$_pt_fast${2+${#2}}:${1-}${2-} in
	0[12],[1-9]f[0-9][0-9][0-9][0-9]* | 0[12],[1-9][0-9]f[0-9][0-9][0-9][0-9]* | 0[12],[1-9][0-9]f9[0-9][0-9]:* | *[[:cntrl:]\"\\]*) _pt_slowly "$?" "$@" ;;
	0[12],[1-9]f* | 0[12],[1-9][0-9]f*)
		case ${PTRACE_SPOOL-} in
		"$_pt_spool") echo "$1	$$	$EPOCHREALTIME	${2-}" >>"$_pt_spool" || : ;;
		*) _pt_slowly 0 "$@" ;;
		esac
		;;
	*) _pt_slowly "$?" "$@" ;;
	esac
} 2>&-

# _pt_slowly STATUS NAME [DATA]... is pt for any arguments, after a command with this
# status.
_pt_slowly() {
	local IFS=' ' _pt_s=$1 _pt_n=${2-}
	shift "$(($# > 1 ? 2 : 1))"
	[[ -z ${PTRACE_SPOOL-} ]] || _pt_line "$_pt_n" "$$" "$*" || :
	# With set -e, keeping the status would end the script after "cmd || pt failed".
	[[ $- != *e* ]] || _pt_s=0
	return "$_pt_s"
}

# _pt_known succeeds if $PTRACE_SPOOL is the spool of a stream. The functions write to no other
# file and create none.
_pt_known() {
	[[ $PTRACE_SPOOL != "$_pt_spool" ]] || return 0
	local _pt_dir=${PTRACE_SPOOL%/*} _pt_name=${PTRACE_SPOOL##*/} _pt_word=''
	_pt_spool='' _pt_left=0 _pt_shut='' _pt_fast=''
	[[ $_pt_dir == /*/l-?* && ${_pt_dir##*/} == l-?* && ! -L $_pt_dir && -f ${_pt_dir%/*}/s-${_pt_dir##*/l-} ]] || return
	[[ $_pt_name == spool || $_pt_name == spool.[1-9]* && ${_pt_name#spool.} != *[!0-9]* ]] || return
	[[ -f $PTRACE_SPOOL && ! -L $PTRACE_SPOOL && -f $_pt_dir/state && ! -L $_pt_dir/state ]] || return
	IFS= builtin read -r _pt_word <"$_pt_dir/state" || :
	[[ -z $_pt_word || $_pt_word == 'ptrace-spool '* ]] || return
	_pt_spool=$PTRACE_SPOOL
}

# _pt_line NAME PID DATA appends a line.
_pt_line() {
	_pt_known || return
	local _pt_n=$1 _pt_d=$3 _pt_t=$EPOCHREALTIME _pt_bytes=4040 _pt_c _pt_h
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
		local LC_ALL=C
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
	local IFS=$' \t' _pt_key _pt_pos _pt_max=${PTRACE_SPOOL##*.}
	{
		builtin printf '%s\t%s\t%s\t%s\n' "$@"
		# After an append the position is the size of the file.
		builtin read -r _pt_key _pt_pos </proc/self/fdinfo/1
	} >>"$PTRACE_SPOOL" || return
	_pt_left=63 _pt_shut=''
	if [[ $_pt_max == *[!0-9]* ]]; then
		if ! declare -F echo >/dev/null; then
			_pt_fast=f
			[[ ! -t 1 && ! -t 2 ]] || _pt_fast=f0 # makes 100 a number of four digits
		fi
	elif [[ $_pt_key == pos: && $_pt_pos == [1-9]* ]] && ((_pt_pos > _pt_max / 2)); then
		# No consumer is active: start one.
		if ! command "$_pt_event" --take-spool </dev/null >/dev/null 2>&1 && ((_pt_pos > _pt_max)); then
			_pt_left=0 _pt_shut=1
		fi
	fi
}

pt_begin() {
	pt "${1-}.begin" "${@:2}"
}

pt_end() {
	pt "${1-}.end" "${@:2}"
}

# pt_step NAME CMD... runs CMD in a span. With set -e, a failure within a
# function must still end the script.
pt_step() {
	local _pt_s=0 _pt_around=$_pt_span
	local _pt_span=$BASHPID.$((++_pt_spans))
	local _pt_t='' _pt_with=${_pt_around:+:$_pt_around} _pt_before=${TRACEPARENT-}
	if [[ -n $_pt_before ]] && _pt_context; then
		TRACEPARENT=$_pt_t
	fi
	_pt_keyed "${1-}.begin" "$_pt_span$_pt_with" ''
	if [[ $- == *e* ]] && { declare -F -- "${2-}" >/dev/null || [[ ${2-} == @(eval|source|.|builtin|command) ]]; }; then
		"${@:2}"
		_pt_s=$?
	else
		"${@:2}" || _pt_s=$?
	fi
	# The command may have changed it.
	if [[ -n $_pt_t && ${TRACEPARENT-} == "$_pt_t" ]]; then
		TRACEPARENT=$_pt_before
	fi
	_pt_keyed "${1-}.end" "$_pt_span" "$_pt_s"
	return "$_pt_s"
}

# _pt_context makes the trace context of a new span: it sets _pt_t to the value of TRACEPARENT, and adds
# the context to _pt_with. It fails if the value that came in is malformed or cannot be replaced, or if
# no stream would record the context.
_pt_context() {
	[[ -n ${PTRACE_SPOOL-} ]] && _pt_known || return
	local IFS=' ' LC_ALL=C _pt_v=$TRACEPARENT _pt_h='[0123456789abcdef]' _pt_r=''
	local _pt_x=$_pt_h$_pt_h$_pt_h$_pt_h$_pt_h$_pt_h$_pt_h$_pt_h
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
} 2>/dev/null

# _pt_keyed NAME KEY DATA records an event of a span with a key. Background jobs may have spans
# of the same name at the same time.
_pt_keyed() {
	[[ -z ${PTRACE_SPOOL-} ]] || _pt_line "$1" "$$:$2" "$3" || :
} 2>&-
