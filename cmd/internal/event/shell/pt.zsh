# Trace points for zsh, see ptrace-event(1). Each call appends one line to the file
# $PTRACE_SPOOL. In the functions descriptor 2 leads to /dev/null, which hides error messages.
# A redirection of a command turns XTRACE off before the command is traced, which zsh
# otherwise shows in what "." and eval run. At the end of a function LOCAL_OPTIONS restores it.
: "${_pt_event:=ptrace-event}"
builtin typeset -g -i _pt_left=0 _pt_lost=0 _pt_shut=0 _pt_spans=0
builtin typeset -g -A _pt_opt
builtin typeset -g _pt_spool='' _pt_span='' _pt_with='' _pt_odd=''
builtin zmodload zsh/datetime 2>/dev/null || :
builtin zmodload zsh/parameter 2>/dev/null || : # options
# printf would keep what it could not write, and write it with the next output of the script.
_pt_write=(printf %s)
if builtin zmodload zsh/system 2>/dev/null; then
	_pt_write=(syswrite --) # a name may begin with a hyphen
fi

pt() { {
	builtin local _pt_s="$?"
	# With ERR_EXIT, keeping the status would end the script after "cmd || pt failed".
	if [[ -o errexit || -o errreturn ]]; then
		_pt_s=0
	fi
	builtin emulate -L zsh
	if [[ -z ${PTRACE_SPOOL-} ]] || [[ $PTRACE_SPOOL != "$_pt_spool" ]] && ! _pt_known; then
		:
	elif (( _pt_left-- > 0 )) && [[ $# -gt 0 && $# -le 2 && -n $1 && ${#1} -lt 128 && ${#2} -lt 800 && $1$2 != *[[:cntrl:]\"\\]* ]]; then
		builtin $_pt_write "$1"$'\t'"$$$_pt_with"$'\t'"${EPOCHREALTIME-}"$'\t'"$2"$'\n' >>"$PTRACE_SPOOL"
	else
		_pt_slowly "$@"
	fi
	return "$_pt_s"
} 2>"/dev/null${${(M)-:#*x*}:+${${options[xtrace]::=off}:+}}" }

# _pt_known succeeds if $PTRACE_SPOOL is the spool of a stream. The functions write to no other
# file and create none.
_pt_known() {
	builtin emulate -L zsh
	builtin local _pt_dir=${PTRACE_SPOOL%/*} _pt_name=${PTRACE_SPOOL##*/} _pt_word=''
	_pt_spool='' _pt_left=0 _pt_shut=0
	[[ $_pt_dir == /*/l-?* && ${_pt_dir##*/} == l-?* && ! -L $_pt_dir && -f ${_pt_dir%/*}/s-${_pt_dir##*/l-} ]] || return
	[[ $_pt_name == spool || $_pt_name == spool.[1-9]* && ${_pt_name#spool.} != *[^0-9]* ]] || return
	[[ -f $PTRACE_SPOOL && ! -L $PTRACE_SPOOL && -f $_pt_dir/state && ! -L $_pt_dir/state ]] || return
	IFS='' builtin read -r _pt_word <"$_pt_dir/state" || :
	[[ -z $_pt_word || $_pt_word == 'ptrace-spool '* ]] || return
	_pt_spool=$PTRACE_SPOOL
}

# _pt_slowly NAME [DATA]... is pt for any arguments. It checks the size of the spool.
_pt_slowly() {
	builtin emulate -L zsh
	builtin setopt local_options extended_glob no_multibyte
	builtin local IFS=' ' LC_ALL=C _pt_n=${1-} _pt_t=${EPOCHREALTIME-} _pt_max=${PTRACE_SPOOL##*.}
	builtin local _pt_d _pt_c _pt_h _pt_key _pt_pos
	(( $# == 0 )) || builtin shift
	_pt_d="$*"
	_pt_d=${_pt_d[1,4096]}
	if (( _pt_shut )); then
		# The spool is full: only report the number of lost events from time to time.
		_pt_left=0
		(( ++_pt_lost >= 64 )) || return 0
		_pt_n='' _pt_t='' _pt_d=$_pt_lost _pt_lost=0
	elif [[ -z $_pt_n || ${#_pt_n} -gt 255 || $_pt_n == *[$'\t\n']* ]]; then
		_pt_n='' _pt_d=1 # an invalid name: the event is lost
	elif [[ $_pt_d == *[[:cntrl:]\"\\]* ]]; then
		_pt_d=${_pt_d//\\/\\\\}
		_pt_d=${_pt_d//\"/\\\"}
		_pt_d=${_pt_d//$'\n'/\\n}
		_pt_d=${_pt_d//$'\t'/\\t}
		while [[ $_pt_d == *[[:cntrl:]]* ]]; do
			_pt_c=${_pt_d#"${_pt_d%%[[:cntrl:]]*}"}
			_pt_c=${_pt_c[1]}
			builtin printf -v _pt_h '\\x%02x' $(( #_pt_c ))
			_pt_d=${_pt_d//"$_pt_c"/$_pt_h}
		done
	fi
	{
		builtin $_pt_write "$_pt_n"$'\t'"$$$_pt_with"$'\t'"$_pt_t"$'\t'"${_pt_d[1,4040 - ${#_pt_n}]}"$'\n'
		# After an append the position is the size of the file.
		IFS=$' \t' builtin read -r _pt_key _pt_pos </proc/self/fdinfo/1
	} >>"$PTRACE_SPOOL" || return
	_pt_left=63 _pt_shut=0
	if [[ $_pt_key == pos: && $_pt_pos == [1-9]* && $_pt_max == [1-9]* ]] && (( _pt_pos > _pt_max / 2 )); then
		# No consumer is active: start one.
		if ! builtin command "$_pt_event" --take-spool </dev/null >/dev/null 2>&1 && (( _pt_pos > _pt_max )); then
			_pt_left=0 _pt_shut=1
		fi
	fi
}

pt_begin() { {
	{ pt "${1-}.begin" "${@:2}"; } always { builtin setopt local_options; }
} 2>"/dev/null${${(M)-:#*x*}:+${${options[xtrace]::=off}:+}}" }

pt_end() { {
	{ pt "${1-}.end" "${@:2}"; } always { builtin setopt local_options; }
} 2>"/dev/null${${(M)-:#*x*}:+${${options[xtrace]::=off}:+}}" }

# pt_step NAME CMD... runs CMD in a span. With ERR_EXIT, a failure within a function must
# still end the script.
pt_step() {
	if {
		# As sh, zsh splits the words of local.
		builtin local _pt_s _pt_w _pt_around _pt_t _pt_before
		_pt_s=0 _pt_w='' _pt_around=$_pt_span _pt_t='' _pt_before=${TRACEPARENT-}
		# Background jobs may have spans of the same name at the same time.
		_pt_spans=$(( _pt_spans + 1 ))
		builtin local _pt_span
		_pt_span=${sysparams[pid]-}
		_pt_span=${_pt_span:+$_pt_span.$_pt_spans}
		_pt_with=${_pt_span:+:$_pt_span${_pt_around:+:$_pt_around}}
		# An if command would cost two more system calls here, and below.
		[[ -z $_pt_before || -z $_pt_span ]] || ! _pt_context || TRACEPARENT=$_pt_t
		pt "${1-}.begin" || :
		_pt_with=
		if [[ -o errexit || -o errreturn ]]; then
			_pt_w=$(builtin whence -w -- "${2-}") || :
		fi
		# Not one pattern, which cannot be read where zsh acts as sh.
		if [[ $_pt_w == *function || $_pt_w == *builtin || $_pt_w == *alias || $_pt_w == *reserved ]]; then
			[[ -z ${_pt_opt[x]} ]] || builtin setopt xtrace
		else
			[[ -n ${_pt_opt[x]} ]] && ! builtin setopt xtrace
		fi
	} 2>"/dev/null${${_pt_opt[x]::=${(M)-:#*x*}}:+}${${(M)-:#*x*}:+${${options[xtrace]::=off}:+}}"; then
		"${@:2}"
		{ _pt_s=$?; [[ -z ${_pt_opt[x]} ]] || builtin setopt xtrace; } 2>"/dev/null${${_pt_opt[x]::=${(M)-:#*x*}}:+}${${(M)-:#*x*}:+${${options[xtrace]::=off}:+}}"
	else
		"${@:2}" || { _pt_s=$?; [[ -z ${_pt_opt[x]} ]] || builtin setopt xtrace; } 2>"/dev/null${${_pt_opt[x]::=${(M)-:#*x*}}:+}${${(M)-:#*x*}:+${${options[xtrace]::=off}:+}}"
	fi
	{
		# The command may have changed it.
		[[ -z $_pt_t || ${TRACEPARENT-} != "$_pt_t" ]] || TRACEPARENT=$_pt_before
		_pt_with=${_pt_span:+:$_pt_span}
		pt "${1-}.end" "$_pt_s" || :
		_pt_with=
		{ return "$_pt_s"; } always { [[ -z ${_pt_opt[x]} ]] || builtin setopt xtrace; }
	} 2>"/dev/null${${_pt_opt[x]::=${(M)-:#*x*}}:+}${${(M)-:#*x*}:+${${options[xtrace]::=off}:+}}"
}

# _pt_context makes the trace context of a new span: it sets _pt_t to the value of TRACEPARENT, and adds
# the context to _pt_with. It fails if the value that came in is malformed or cannot be replaced, or if
# no stream would record the context.
_pt_context() {
	builtin emulate -L zsh
	builtin setopt local_options no_multibyte
	[[ -n ${PTRACE_SPOOL-} ]] && { [[ $PTRACE_SPOOL == "$_pt_spool" ]] || _pt_known; } || return
	builtin local LC_ALL=C _pt_v=$TRACEPARENT _pt_r= _pt_x= _pt_m=
	_pt_r=${_pt_v[1,2]}${_pt_v[4,35]}${_pt_v[37,52]}${_pt_v[54,55]}
	if [[ ${#_pt_r} -ne 52 || $_pt_r == *[^0123456789abcdef]* || ${_pt_v[3]}${_pt_v[36]}${_pt_v[53]} != --- || $_pt_v == ff* ||
		${#_pt_v} -gt 55 && ( $_pt_v == 00* || ${_pt_v[56]} != - ) || ${_pt_v[4,35]} != *[^0]* || ${_pt_v[37,52]} != *[^0]* ]]; then
		if [[ -z $_pt_odd ]]; then
			_pt_odd=1
			builtin local _pt_with=
			pt tracecontext.malformed "TRACEPARENT=$_pt_v"
		fi
		return 1
	fi
	builtin read -r _pt_r </proc/sys/kernel/random/uuid || return
	_pt_r=${_pt_r[1,8]}${_pt_r[29,36]}
	[[ ${#_pt_r} -eq 16 && $_pt_r == *[^0]* ]] || return
	_pt_x=${TRACESTATE-}
	[[ ${#_pt_x} -le 512 && $_pt_x != *[^[:print:]]* ]] || _pt_x=
	[[ ${(t)TRACEPARENT} != *readonly* ]] || return
	case ${_pt_v[55]} in # reserved flags are not passed on
	[048c]) _pt_m=00 ;;
	[159d]) _pt_m=01 ;;
	[26ae]) _pt_m=02 ;;
	*) _pt_m=03 ;;
	esac
	_pt_t=00-${_pt_v[4,35]}-$_pt_r-$_pt_m
	_pt_with=:$_pt_span:$_pt_around:$_pt_t:${_pt_v[37,52]}:$_pt_x
} 2>/dev/null
