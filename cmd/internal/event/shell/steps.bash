# shellcheck shell=bash
# A span for each command of the script. Functions and subshells inherit the trap. bash keeps
# $? and PIPESTATUS over the trap; "$_" as the last argument of the handler keeps itself. The
# handler's output, messages and set -x lead nowhere.
_pt_step_pid='' _pt_step_line=1 _pt_step_cmd='' _pt_step_depth=0 _pt_step_entered=''

# _pt_before STATUS LINE COMMAND _ runs before each command.
# shellcheck disable=SC2016 # the text of commands
_pt_before() {
	case ${FUNCNAME[1]-}:$3 in
	pt_step:*) # what it runs may be a function
		_pt_step_cmd=$3 _pt_step_depth=${#FUNCNAME[@]}
		return 0
		;;
	pt:* | pt_begin:* | pt_end:* | _pt_*) return 0 ;;
	# The script has the functions of --shell, too: their definitions are no steps.
	*:_pt_*=* | *:': "${_pt_'* | *:'[ -n "${_pt_'* | *:"eval '# shellcheck shell=bash"*) return 0 ;;
	esac
	# Our own EXIT trap: bash reports its first line, and the text of an earlier command.
	if [[ $2 == 1 && $_pt_step_line != 1 && (-z ${FUNCNAME[1]-} || ${FUNCNAME[1]} == main || $3 == "$_pt_step_cmd") ]]; then
		return 0
	fi
	# bash reports the command that entered a function a second time. Its status is not known
	# yet, and $? is that of an earlier command.
	if [[ $3 == "$_pt_step_cmd" ]] && ((${#FUNCNAME[@]} > _pt_step_depth)); then
		_pt_step_cmd='' _pt_step_entered=0
		return 0
	fi
	_pt_step_line=$2 _pt_step_cmd=$3 _pt_step_depth=${#FUNCNAME[@]}
	if [[ $_pt_step_pid == "$BASHPID" ]]; then
		_pt_line step.end "$BASHPID" "${_pt_step_entered:-$1}" || :
	else
		_pt_step_pid=$BASHPID
		# No other command follows the last command of this subshell.
		builtin trap '{ _pt_after "$?"; } 2>/dev/null' EXIT || :
	fi
	_pt_step_entered=''
	_pt_line step.begin "$BASHPID" "${BASH_SOURCE[1]-}:$2 $3" || :
}

# _pt_after STATUS runs at the end.
_pt_after() {
	builtin trap - DEBUG
	if [[ $_pt_step_pid == "$BASHPID" ]]; then
		_pt_line step.end "$BASHPID" "$1" || :
	fi
}

if [[ -n ${PTRACE_SPOOL-} ]]; then
	set -o functrace
	trap '{ _pt_before "$?" "$LINENO" "$BASH_COMMAND" "$_"; } 2>/dev/null' DEBUG
fi
