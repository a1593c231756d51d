# shellcheck shell=bash
# A span for each command of the script. Functions and subshells inherit the trap. bash keeps
# $? and PIPESTATUS over the trap; "$_" as the last argument of the handler keeps itself. The
# handler's output, messages and set -x lead nowhere.
_pt_step_pid='' _pt_step_line=1 _pt_step_cmd='' _pt_step_depth=0 _pt_step_fixed='' _pt_step_job='' _pt_step_fds=''

# _pt_before STATUS LINE COMMAND [STATUS]... _ runs before each command. The further statuses are
# those of a pipeline, without its first.
# shellcheck disable=SC2016,SC2154 # the text of commands, the variables of pt.bash
_pt_before() {
	case ${FUNCNAME[1]-}:$3 in
	pt_step:*) # what it runs may be a function
		_pt_step_cmd=$3 _pt_step_depth=${#FUNCNAME[@]}
		return 0
		;;
	pt:* | pt_begin:* | pt_end:* | _pt_*) return 0 ;;
	# The script has the functions of --shell, too: their definitions are no steps.
	*:_pt_*=* | *:': "${_pt_'* | *:'[ -n "${_pt_'* | *:"eval '# shellcheck shell=bash"* | *:"trap '{ _pt_"*) return 0 ;;
	esac
	# Our own EXIT trap: bash reports its first line, and the text of an earlier command.
	if [[ $2 == 1 && $_pt_step_line != 1 && (-z ${FUNCNAME[1]-} || ${FUNCNAME[1]} == main || $3 == "$_pt_step_cmd") ]]; then
		return 0
	fi
	# bash reports the command that entered a function a second time. Its status is not known
	# yet, and $? is that of an earlier command.
	if [[ $3 == "$_pt_step_cmd" ]] && ((${#FUNCNAME[@]} > _pt_step_depth)); then
		_pt_step_cmd='' _pt_step_fixed=0
		return 0
	fi
	local _pt_s=$1 _pt_d=${BASH_SOURCE[1]-}:$2\ $3
	[[ $# == 4 && -z $_pt_step_fixed && ${!-} == "$_pt_step_job" ]] || _pt_ended "$@"
	_pt_step_line=$2 _pt_step_cmd=$3 _pt_step_depth=${#FUNCNAME[@]} _pt_step_fixed='' _pt_step_job=${!-}
	case $3 in
	'for '* | 'case '* | 'select '*) _pt_step_fixed='?' ;; # bash sets no status for these
	*) [[ ! -e /dev/fd/3 ]] || ! _pt_piped || _pt_step_fixed='?' ;;
	esac
	if [[ $_pt_step_pid == "$BASHPID" ]]; then
		# Both lines in one write, unless _pt_line has more to do.
		if [[ $_pt_left -gt 1 && -z $_pt_shut && ${PTRACE_SPOOL-} == "$_pt_spool" && ${#_pt_d} -le 150 && $_pt_d != *[[:cntrl:]\"\\]* ]]; then
			_pt_left=$((_pt_left - 2))
			builtin printf 'step.end\t%s\t%s\t%s\nstep.begin\t%s\t%s\t%s\n' "$BASHPID" "$EPOCHREALTIME" "$_pt_s" "$BASHPID" "$EPOCHREALTIME" "$_pt_d" >>"$_pt_spool" || :
			return 0
		fi
		_pt_line step.end "$BASHPID" "$_pt_s" || :
	else
		if _pt_awaited; then
			_pt_line step.end "$_pt_step_pid" "$_pt_s" || :
			_pt_line step.begin "$_pt_step_pid" "${BASH_SOURCE[1]-}:$2 ($3 ...)" || :
		fi
		_pt_step_pid=$BASHPID
		# No other command follows the last command of this subshell.
		builtin trap '{ _pt_after "$?" 0 "" "${PIPESTATUS[@]:1}" "$_"; } 2>/dev/null' EXIT || :
	fi
	_pt_line step.begin "$BASHPID" "$_pt_d" || :
}

# _pt_ended, with the arguments of _pt_before, sets _pt_s to the status of the last step, or to
# nothing if bash does not report it.
_pt_ended() {
	_pt_s=$1
	if [[ -n $_pt_step_fixed ]]; then
		_pt_s=${_pt_step_fixed#'?'}
	elif [[ ${!-} != "$_pt_step_job" ]]; then
		_pt_s='' # it runs in the background
	elif (($# > 4 && $1 != 0)) && [[ $_pt_step_cmd != exit* ]]; then
		_pt_s=${*: -2:1} # with pipefail, $? may be that of another element
	fi
}

# _pt_piped succeeds if the next command writes to a pipeline. bash then has both ends of the pipe
# open, at the lowest descriptors that were free.
_pt_piped() {
	local _pt_f _pt_r=''
	for _pt_f in 3 4 5 6 7 8 9; do
		[[ -e /dev/fd/$_pt_f ]] || return
		if [[ $_pt_step_fds != *$_pt_f* && -p /dev/fd/$_pt_f ]]; then
			[[ -z $_pt_r || ! /dev/fd/$_pt_r -ef /dev/fd/$_pt_f ]] || return 0
			_pt_r=$_pt_f
		fi
	done
	return 1
}

# _pt_awaited succeeds in a subshell that is a command of its own, for which the shell with the
# last step waits: that step has ended. It is no element of a pipeline, no substitution, which have
# a pipe, and not in the background, where bash ignores SIGINT.
_pt_awaited() {
	local _pt_f _pt_w=''
	[[ -n $_pt_step_pid && $- != *m* ]] || return
	for _pt_f in 0 1; do
		[[ ! -p /dev/fd/$_pt_f || /dev/fd/$_pt_f -ef /proc/$_pt_step_pid/fd/$_pt_f ]] || return
	done
	builtin read -r -d '' _pt_w </proc/self/status || :
	[[ $_pt_w == *SigIgn:* ]] || return
	_pt_w=${_pt_w##*SigIgn:?}
	_pt_w=${_pt_w%%[!0-9a-f]*}
	((!(16#${_pt_w: -8} & 2)))
}

# _pt_after, with the arguments of _pt_before, runs at the end.
_pt_after() {
	builtin trap - DEBUG
	if [[ $_pt_step_pid == "$BASHPID" ]]; then
		local _pt_s
		_pt_ended "$@"
		_pt_line step.end "$BASHPID" "$_pt_s" || :
	fi
}

if [[ -n ${PTRACE_SPOOL-} ]]; then
	for _pt_step_job in 3 4 5 6 7 8 9; do # those of a jobserver
		[[ ! -p /dev/fd/$_pt_step_job ]] || _pt_step_fds+=$_pt_step_job
	done
	set -o functrace
	trap '{ _pt_before "$?" "$LINENO" "$BASH_COMMAND" "${PIPESTATUS[@]:1}" "$_"; } 2>/dev/null' DEBUG
fi
