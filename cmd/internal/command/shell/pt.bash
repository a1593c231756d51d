# shellcheck shell=bash
# Trace points for bash, see ptrace-event(1). Each call appends one line to the file
# $PTRACE_SPOOL. Descriptor 2 is closed in the functions, so that neither messages
# of what can go wrong with that nor set -x show.
: "${_pt_event:=ptrace-event}"
_pt_left=0 _pt_lost=0 _pt_shut=

pt() {
	# One test for what needs care: a status to be kept, the number of operands, the size
	# of the spool every 64 calls, bytes to be escaped.
	case $?$#$((_pt_left -= 1)):${1-}${2-} in
	*[[:cntrl:]\"\\]*) _pt_slowly "$?" "$@" ;;
	0[12][1-9]*) builtin printf '%.256s\t%s\t%s\t%.3800s\n' "$1" "$$" "${EPOCHREALTIME-}" "${2-}" >>"${PTRACE_SPOOL-}" || : ;;
	*) _pt_slowly "$?" "$@" ;;
	esac
} 2>&-

# _pt_slowly STATUS NAME [DATA]... is pt for any arguments, after a command of this
# status.
_pt_slowly() {
	local IFS=' ' _pt_s=$1 _pt_n=${2-}
	shift "$(($# > 1 ? 2 : 1))"
	if [[ -z ${PTRACE_SPOOL-} ]]; then
		:
	elif ((_pt_left > 0)) && [[ -n $_pt_n && ${#_pt_n} -lt 64 && $# -le 1 && $_pt_n${1-} != *[[:cntrl:]\"\\]* ]]; then
		builtin printf '%s\t%s\t%s\t%.3800s\n' "$_pt_n" "$$" "${EPOCHREALTIME-}" "${1-}" >>"$PTRACE_SPOOL" || :
	else
		_pt_line "$_pt_n" "$$" "$*" || :
	fi
	# With set -e, a status that is kept would end the script after "cmd || pt failed".
	[[ $- != *e* ]] || _pt_s=0
	return "$_pt_s"
}

# _pt_line NAME PID DATA appends a line and looks after the size of the spool.
_pt_line() {
	local IFS=$' \t' LC_ALL=C _pt_d=${3:0:4096} _pt_n=$1 _pt_t=${EPOCHREALTIME-}
	local _pt_c _pt_h _pt_key _pt_pos _pt_max=${PTRACE_SPOOL##*.}
	if [[ -n $_pt_shut ]]; then
		# There is no room; only the number of events is told, now and then.
		_pt_left=0 _pt_lost=$((_pt_lost + 1))
		((_pt_lost >= 64)) || return 0
		_pt_n='' _pt_t='' _pt_d=$_pt_lost _pt_lost=0
	elif [[ -z $_pt_n || ${#_pt_n} -gt 255 || $_pt_n == *[$'\t\n']* ]]; then
		_pt_n='' _pt_d=1 # an event whose name is none is lost
	elif [[ $_pt_d == *[[:cntrl:]\"\\]* ]]; then
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
	fi
	{
		builtin printf '%s\t%s\t%s\t%s\n' "$_pt_n" "$2" "$_pt_t" "${_pt_d:0:4040-${#_pt_n}}"
		# Where an append ends, there the file ends.
		builtin read -r _pt_key _pt_pos </proc/self/fdinfo/1
	} >>"$PTRACE_SPOOL" || return
	_pt_left=63 _pt_shut=
	if [[ $_pt_key == pos: && $_pt_pos == [1-9]* && $_pt_max == [1-9]* ]] && ((_pt_pos > _pt_max / 2)); then
		# Nobody takes the lines, so somebody has to be called.
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

# pt_step NAME CMD... runs CMD in a span. With set -e, a function that fails must be
# able to end the script in its middle, as it would without us.
pt_step() {
	local _pt_s=0
	pt "${1-}.begin" || :
	if [[ $- == *e* ]] && { declare -F -- "${2-}" >/dev/null || [[ ${2-} == @(eval|source|.|builtin|command) ]]; }; then
		"${@:2}"
		_pt_s=$?
	else
		"${@:2}" || _pt_s=$?
	fi
	pt "${1-}.end" "$_pt_s" || :
	return "$_pt_s"
}
