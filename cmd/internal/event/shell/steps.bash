# shellcheck shell=bash
# A span for each command of the script, around the spans of the commands that it calls: those of a
# function, or of a file. Functions and subshells inherit the traps. bash keeps $? and PIPESTATUS over a
# trap; "$_" as the last argument of the handler keeps itself. The handler's messages and set -x lead
# nowhere, see pt.bash. The trap RETURN only reports to the trap DEBUG, which runs before each command of
# a trap, too: bash expands words, and thus sets _pt_step_left, before and after that. Then 1 stands for
# the end of a function or a file, and 2 for commands of ours.
_pt_step_pid='' _pt_step_line=1 _pt_step_cmd='' _pt_step_depth=0 _pt_step_fixed='' _pt_step_job='' _pt_step_fds=''
_pt_step_left=0 _pt_step_run='' _pt_step_open='' _pt_step_around='' _pt_step_ends='' _pt_step_ended=0 _pt_step_own='' _pt_step_new='' _pt_step_status=''
# The commands that have called others: key, depth, text, and the spans around: of pt_step, and of a command.
_pt_call_keys=() _pt_call_depths=() _pt_call_cmds=() _pt_call_spans=() _pt_call_arounds=()

# _pt_before STATUS LINE COMMAND [STATUS]... _ runs before each command. The further statuses are
# those of a pipeline, without its first.
# shellcheck disable=SC2016,SC2154 # the text of commands, the variables of pt.bash
_pt_before() {
	_pt_step_n=${#FUNCNAME[@]} _pt_step_s=$1
	case $_pt_step_left${_pt_load:+/}${FUNCNAME[1]-}:$3 in
	0/* | *:_pt_load=*) return 0 ;; # the script loads the functions of --shell
	0pt_step:*)                     # what it runs may be a function
		_pt_step_run=$3
		return 0
		;;
	?pt:* | ?pt_begin:* | ?pt_end:* | ?_pt_* | *:'[[ -z ${BASH_XTRACEFD-'* | *:'1023>&'* | *:'[ -z "${BASH_VERSION:+'* | *:'BASH_XTRACEFD=$_pt_'*) return 0 ;;
	1*)
		_pt_step_left=2
		((_pt_step_n <= _pt_step_depth)) || ! _pt_trapped || return 0
		_pt_returned "$@"
		return 0
		;;
	2*) return 0 ;;
	*:trap\ * | *:set\ *) _pt_harmless "$3" || return 0 ;;
	esac
	# In a trap for a signal or EXIT bash reports the first line, and the text of an earlier command.
	if [[ $2 == 1 && $_pt_step_line != 1 && (-z ${FUNCNAME[1]-} || ${FUNCNAME[1]} == main || $3 == "$_pt_step_cmd" && $_pt_step_n == "$_pt_step_depth") ]]; then
		return 0
	fi
	if ((_pt_step_n > _pt_step_depth)); then
		! _pt_trapped || return 0
		# bash reports the command that entered a function a second time, also the one of pt_step.
		if [[ $3 == "$_pt_step_run" && ${FUNCNAME[2]-} == pt_step ]]; then
			_pt_step_run=''
			return 0
		fi
		if [[ $3 == "$_pt_step_cmd" ]]; then
			[[ $_pt_step_pid == "$BASHPID" ]] || _pt_begun "$((_pt_step_n - 1))" "${BASH_SOURCE[2]-}:${BASH_LINENO[1]-} $3" "$3"
			_pt_called
			return 0
		fi
		[[ $_pt_step_pid != "$BASHPID" ]] || _pt_called
	elif [[ $# != 4 || -n $_pt_step_fixed || ${!-} != "$_pt_step_job" ]]; then
		_pt_ended "$@"
	fi
	_pt_step_line=$2 _pt_step_fixed='' _pt_step_job=${!-}
	case $3 in
	'for '* | 'case '* | 'select '*) _pt_step_fixed='?' ;; # bash sets no status for these
	*) [[ ! -e /dev/fd/3 ]] || ! _pt_piped || _pt_step_fixed='?' ;;
	esac
	if [[ $_pt_step_pid == "$BASHPID" ]]; then
		_pt_end_to "$_pt_step_n" "$_pt_step_s" "$1"
	elif [[ -n $_pt_step_open ]] && ((_pt_step_n <= _pt_step_depth && (!${#_pt_call_keys[@]} || _pt_call_depths[-1] < _pt_step_n))) && _pt_awaited; then
		_pt_line step.end "$_pt_step_pid:$_pt_step_open" "$_pt_step_s" || :
		_pt_line step.begin "$_pt_step_pid:$_pt_step_open$_pt_step_in" "${BASH_SOURCE[1]-}:$2 ($3 ...)" || :
	elif [[ -z $_pt_step_open ]] && _pt_awaited; then
		# The shell around does not know of this step, so it ends with the subshell.
		_pt_step_new=$_pt_step_pid:$BASHPID.$((++_pt_spans))
		_pt_line step.begin "$_pt_step_new$_pt_step_around" "${BASH_SOURCE[1]-}:$2 ($3 ...)" || :
	fi
	_pt_begun "$_pt_step_n" "${BASH_SOURCE[1]-}:$2 $3" "$3"
}

# _pt_begun DEPTH DATA COMMAND begins a step, and writes the lines for those that have ended.
# shellcheck disable=SC2154 # the variables of pt.bash
_pt_begun() {
	if [[ $_pt_step_pid != "$BASHPID" ]]; then
		_pt_step_pid=$BASHPID _pt_step_around='' _pt_step_own=$_pt_step_new _pt_step_new=''
		_pt_call_keys=() _pt_call_depths=() _pt_call_cmds=() _pt_call_spans=() _pt_call_arounds=()
		# No other command follows the last command of this subshell.
		# shellcheck disable=SC2064 # expands now
		builtin trap "{ { _pt_after \"\$?\" 0 '' \"\${PIPESTATUS[@]:1}\" \"\$_\"; } $_pt_quiet 1023>&\"\${_pt_no[_pt_step_left=2]-}-\"" EXIT || :
	fi
	_pt_step_open=$BASHPID.$((++_pt_spans)) _pt_step_depth=$1 _pt_step_cmd=$3
	_pt_step_span=$_pt_span _pt_step_in=$_pt_step_around
	# A pt_step may be between.
	if [[ -n $_pt_span ]] && { ((!${#_pt_call_keys[@]})) || [[ ${_pt_call_spans[-1]} != "$_pt_span" ]]; }; then
		_pt_step_in=:$_pt_span
	fi
	# All lines in one write, unless _pt_line has more to do.
	if [[ ${PTRACE_SPOOL-} == "$_pt_spool" && -z $_pt_shut && ${#2} -le 150 && $2 != *[[:cntrl:]\"\\]* ]] && ((_pt_left > _pt_step_ended)); then
		_pt_left=$((_pt_left - _pt_step_ended - 1))
		builtin printf '%sstep.begin\t%s:%s%s\t%s\t%s\n' "$_pt_step_ends" "$BASHPID" "$_pt_step_open" "$_pt_step_in" "$EPOCHREALTIME" "$2" >>"$_pt_spool" || :
		_pt_step_ends='' _pt_step_ended=0
	else
		_pt_end_now
		_pt_line step.begin "$BASHPID:$_pt_step_open$_pt_step_in" "$2" || :
	fi
}

# _pt_trapped succeeds in a function that a trap has called: from its first line.
_pt_trapped() {
	((_pt_step_line != 1 && BASH_LINENO[_pt_step_n - _pt_step_depth + 1] == 1)) # + 1 for this function
}

# _pt_called notes that the last step has called the commands that follow.
_pt_called() {
	[[ -n $_pt_step_open ]] || return 0
	_pt_call_keys+=("$_pt_step_open") _pt_call_depths+=("$_pt_step_depth") _pt_call_cmds+=("$_pt_step_cmd") _pt_call_spans+=("$_pt_step_span") _pt_call_arounds+=("$_pt_step_around")
	_pt_step_around=:$_pt_step_open _pt_step_open='' _pt_step_cmd='' _pt_step_fixed=''
}

# _pt_end_to DEPTH STATUS STATUS ends the last step with the first status, and those that called it with
# the second one, as far as they are at this depth. The next line in the spool takes the lines along.
_pt_end_to() {
	if ((_pt_step_depth >= $1)) && [[ -n $_pt_step_open ]]; then
		_pt_step_ends+=step.end$'\t'$BASHPID:$_pt_step_open$'\t'$EPOCHREALTIME$'\t'$2$'\n' _pt_step_ended=$((_pt_step_ended + 1)) _pt_step_open=''
	fi
	while ((${#_pt_call_keys[@]} && _pt_call_depths[-1] >= $1)); do
		_pt_step_ends+=step.end$'\t'$BASHPID:${_pt_call_keys[-1]}$'\t'$EPOCHREALTIME$'\t'$3$'\n' _pt_step_ended=$((_pt_step_ended + 1))
		_pt_step_around=${_pt_call_arounds[-1]}
		builtin unset '_pt_call_keys[-1]' '_pt_call_depths[-1]' '_pt_call_cmds[-1]' '_pt_call_spans[-1]' '_pt_call_arounds[-1]'
	done
}

# _pt_end_now writes the lines for steps that have ended.
_pt_end_now() {
	if ((_pt_step_ended)) && _pt_known; then
		if [[ -n $_pt_shut ]]; then
			_pt_lost=$((_pt_lost + _pt_step_ended))
		else
			builtin printf %s "$_pt_step_ends" >>"$_pt_spool" || :
		fi
		_pt_left=$((_pt_left - _pt_step_ended))
	fi
	_pt_step_ends='' _pt_step_ended=0
}

# _pt_returned, with the arguments of _pt_before, runs at the end of a function or a file. At the end of a
# file bash reports the command that read it. The status of "return" is in its text only.
_pt_returned() {
	[[ $_pt_step_pid == "$BASHPID" ]] || return 0
	_pt_step_to=$((_pt_step_n - 1)) _pt_step_r=$1
	if ((${#_pt_call_keys[@]} && _pt_call_depths[-1] == _pt_step_n)) && [[ ${_pt_call_cmds[-1]} == "$3" ]] ||
		[[ -n $_pt_step_open && $_pt_step_depth == "$_pt_step_n" && $3 == @(.|source)\ * ]]; then
		_pt_step_to=$_pt_step_n
	elif [[ -z $_pt_step_open ]]; then
		# The last command was a call, and bash may report what that did.
		_pt_end_to "$_pt_step_to" '' "$_pt_step_status"
		_pt_end_now
		return 0
	elif [[ $3 == return\ * ]]; then
		_pt_step_r=${3#return } _pt_step_r=${_pt_step_r//[\" ]/}
		case $_pt_step_r in
		'$?') _pt_step_r=$1 ;;
		'$'[a-zA-Z_\{]*) # the value of a variable, if it is that simple
			_pt_step_r=${_pt_step_r#?} _pt_step_r=${_pt_step_r#'{'} _pt_step_r=${_pt_step_r%'}'}
			[[ $_pt_step_r != [a-zA-Z_]* || $_pt_step_r == *[!a-zA-Z0-9_]* ]] && _pt_step_r='' || _pt_step_r=${!_pt_step_r-}
			;;
		esac
		[[ $_pt_step_r != *[!0-9]* ]] || _pt_step_r=''
		_pt_step_fixed='' _pt_step_status=$_pt_step_r
		_pt_end_to "$_pt_step_to" "$_pt_step_r" "$_pt_step_r"
		_pt_end_now
		return 0
	fi
	_pt_ended "$@"
	_pt_step_fixed='' _pt_step_status=$1
	_pt_end_to "$_pt_step_to" "$_pt_step_s" "$1"
	_pt_end_now
}

# _pt_harmless COMMAND ends the steps before a command of the script that shows them: bash prints the
# text of a trap with set -v, and a trap of the script's own, in our place, is not for functions.
_pt_harmless() {
	case $1 in
	trap\ *DEBUG* | trap\ *RETURN*) ;;
	'set -- '*) return 0 ;;
	'set -'*v* | 'set -'*[\$\`]*) ;;
	'set '[\$\"]*)
		_pt_step_r=${1#set ?} _pt_step_r=${_pt_step_r#[\$]} _pt_step_r=${_pt_step_r#'{'} _pt_step_r=${_pt_step_r%%[!a-zA-Z0-9_]*}
		[[ $_pt_step_r == [a-zA-Z_]* && ${!_pt_step_r-} == -*v* ]] || return 0
		;;
	*) return 0 ;;
	esac
	_pt_end_to 0 '' ''
	_pt_end_now
	builtin trap - DEBUG
	builtin trap '' RETURN # a function restores a trap that it removes
	[[ -z $_pt_step_pid || $_pt_step_pid != "$BASHPID" ]] || builtin trap - EXIT
	builtin set +o functrace
	return 1
}

# _pt_ended, with the arguments of _pt_before, sets _pt_step_s to the status of the last step, or to
# nothing if bash does not report it.
_pt_ended() {
	_pt_step_s=$1
	if [[ -n $_pt_step_fixed ]]; then
		_pt_step_s=${_pt_step_fixed#'?'}
	elif [[ ${!-} != "$_pt_step_job" ]]; then
		_pt_step_s='' # it runs in the background
	elif (($# > 4 && $1 != 0)) && [[ $_pt_step_cmd != exit* ]]; then
		_pt_step_s=${*: -2:1} # with pipefail, $? may be that of another element
	fi
}

# _pt_piped succeeds if the next command writes to a pipeline. bash then has both ends of the pipe
# open, at the lowest descriptors that were free.
_pt_piped() {
	builtin local _pt_f _pt_step_r
	_pt_step_r=''
	for _pt_f in 3 4 5 6 7 8 9; do
		[[ -e /dev/fd/$_pt_f ]] || return
		if [[ $_pt_step_fds != *$_pt_f* && -p /dev/fd/$_pt_f ]]; then
			[[ -z $_pt_step_r || ! /dev/fd/$_pt_step_r -ef /dev/fd/$_pt_f ]] || return 0
			_pt_step_r=$_pt_f
		fi
	done
	return 1
}

# _pt_awaited succeeds in a subshell that is a command of its own, for which the shell with the
# last step waits: that step has ended. It is no element of a pipeline, no substitution, which have
# a pipe, and not in the background, where bash ignores SIGINT.
_pt_awaited() {
	builtin local _pt_f _pt_w
	_pt_w=''
	[[ -n $_pt_step_pid && ! -o monitor ]] || return
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
	builtin trap '' RETURN
	if [[ $_pt_step_pid == "$BASHPID" ]]; then
		_pt_step_s=$1
		_pt_ended "$@"
		_pt_end_to 0 "$_pt_step_s" "$1"
		_pt_end_now
		[[ -z $_pt_step_own ]] || _pt_line step.end "$_pt_step_own" "$1" || :
	fi
}

# shellcheck disable=SC2016 # the text of traps
_pt_quiet='{_pt_fd}>&-; [[ -z ${BASH_XTRACEFD-} ]] || for _pt_i in; do :; done 1023>&"${_pt_no[BASH_XTRACEFD=_pt_fd]-}-"; } 2>&"${BASH_XTRACEFD:+${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD//[!0-9]/})||(_pt_fd=1023)]-}}-"'
if [[ -n ${PTRACE_SPOOL-} && ${_pt_load%%:*} != *v* ]]; then
	for _pt_step_job in 3 4 5 6 7 8 9; do # those of a jobserver
		[[ ! -p /dev/fd/$_pt_step_job ]] || _pt_step_fds+=$_pt_step_job
	done
	builtin set -o functrace
	builtin trap '{ 1023>&"${_pt_no[_pt_step_left=0]-}-"; } 1023>&"${_pt_no[_pt_step_left=1]-}-"' RETURN
	builtin trap '{ { _pt_before "$?" "$LINENO" "$BASH_COMMAND" "${PIPESTATUS[@]:1}" "$_"; } '"$_pt_quiet" DEBUG
fi
