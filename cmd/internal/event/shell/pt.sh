# shellcheck shell=sh
# Trace points for any POSIX shell, see ptrace-event(1). Each call appends one line
# to the file $PTRACE_SPOOL, and hides errors. Such a shell has no local variables, and
# may have no better clock than /proc/uptime, in hundredths of a second since the system
# booted. A "+" marks such a time.
: "${_pt_event:=ptrace-event}"
_pt_left=0 _pt_lost=0 _pt_shut='' _pt_spool='' _pt_span='' _pt_spans=0 _pt_deep=0 _pt_key='' _pt_odd=''
_pt_nl='
'
_pt_tab='	'

pt() {
	_pt_s=$?
	if [ -n "${PTRACE_SPOOL-}" ] && { [ "$PTRACE_SPOOL" = "$_pt_spool" ] || _pt_known; }; then
		_pt_left=$((_pt_left - 1))
		if [ "$_pt_left" -ge 0 ] && [ "$#" -gt 0 ] && [ "$#" -le 2 ] && [ -n "$1" ] && [ "${#1}" -lt 128 ] && _pt_plain "$1${2-}"; then
			_pt_now
			\command printf '%s\t%s\t%s\t%s\n' "$1" "$$$_pt_key" "$_pt_t" "${2-}" >>"$PTRACE_SPOOL" || :
		else
			_pt_slowly "$@" || :
		fi
	fi
	# With set -e, a status that is kept would end the script after "cmd || pt failed".
	case $- in
	*e*) return 0 ;;
	esac
	return "$_pt_s"
} 2>/dev/null

# _pt_known succeeds if $PTRACE_SPOOL is the spool of a stream. The functions write to no other
# file and create none.
_pt_known() {
	_pt_spool='' _pt_left=0 _pt_shut='' _pt_dir=${PTRACE_SPOOL%/*} _pt_word=''
	case $_pt_dir in
	/*/l-?*) ;;
	*) return 1 ;;
	esac
	case ${_pt_dir##*/} in
	l-?*) ;;
	*) return 1 ;;
	esac
	case ${PTRACE_SPOOL##*/} in
	spool) ;;
	spool.*[!0-9]* | spool.) return 1 ;;
	spool.*) ;;
	*) return 1 ;;
	esac
	[ ! -L "$_pt_dir" ] && [ -f "${_pt_dir%/*}/s-${_pt_dir##*/l-}" ] || return
	[ -f "$PTRACE_SPOOL" ] && [ ! -L "$PTRACE_SPOOL" ] && [ -f "$_pt_dir/state" ] && [ ! -L "$_pt_dir/state" ] || return
	IFS='' \command read -r _pt_word <"$_pt_dir/state" || :
	case $_pt_word in
	'ptrace-spool '* | '') _pt_spool=$PTRACE_SPOOL ;;
	*) return 1 ;;
	esac
}

# _pt_now sets _pt_t to the time.
# shellcheck disable=SC3028
_pt_now() {
	_pt_t=${EPOCHREALTIME-}
	if [ -z "$_pt_t" ]; then
		IFS=' ' \command read -r _pt_t _pt_c </proc/uptime && _pt_t=+$_pt_t || _pt_t=
	fi
}

# _pt_plain TEXT succeeds if the text is short and needs no escaping.
_pt_plain() {
	[ "${#1}" -lt 900 ] || return
	case $1 in
	*[\"\\]* | *"$_pt_tab"* | *"$_pt_nl"*) return 1 ;;
	esac
}

# _pt_slowly NAME [DATA]... is pt for any arguments. It checks the size of the spool.
_pt_slowly() {
	_pt_now
	_pt_n=${1-} _pt_d=${2-} _pt_max=${PTRACE_SPOOL##*.}
	if [ "$#" -gt 2 ]; then
		\shift 2
		for _pt_c; do
			_pt_d="$_pt_d $_pt_c"
		done
	fi
	if [ -n "$_pt_shut" ]; then
		# The spool is full: only report the number of lost events from time to time.
		_pt_left=0 _pt_lost=$((_pt_lost + 1))
		[ "$_pt_lost" -ge 64 ] || return 0
		_pt_n='' _pt_t='' _pt_d=$_pt_lost _pt_lost=0
	else
		case $_pt_n in
		'' | *"$_pt_tab"* | *"$_pt_nl"*) _pt_n='' _pt_d=1 ;; # an invalid name: the event is lost
		*) [ "${#_pt_n}" -le 255 ] || _pt_n='' _pt_d=1 ;;
		esac
		_pt_plain "$_pt_d" || _pt_escape
	fi
	{
		\command printf "%s\\t%s\\t%s\\t%.$((4040 - ${#_pt_n}))s\\n" "$_pt_n" "$$$_pt_key" "$_pt_t" "$_pt_d"
		# After an append the position is the size of the file.
		\command read -r _pt_pos </proc/self/fdinfo/1
	} >>"$PTRACE_SPOOL" || return
	_pt_left=63 _pt_shut=
	_pt_pos=${_pt_pos#pos:?}
	case $_pt_pos:$_pt_max in
	[1-9]*:[1-9]*)
		if [ "$_pt_pos" -gt "$((_pt_max / 2))" ] && ! \command "$_pt_event" --take-spool </dev/null >/dev/null && [ "$_pt_pos" -gt "$_pt_max" ]; then
			# No consumer is active, and none can be started.
			_pt_left=0 _pt_shut=1
		fi
		;;
	esac
}

# _pt_escape escapes _pt_d as far as a line has room for it.
_pt_escape() {
	_pt_r=$_pt_d _pt_d=
	while [ "${#_pt_d}" -lt 4096 ]; do
		_pt_c=${_pt_r%%["$_pt_tab$_pt_nl\"\\"]*}
		_pt_d=$_pt_d$_pt_c
		[ "${#_pt_c}" -lt "${#_pt_r}" ] || break
		_pt_r=${_pt_r#"$_pt_c"}
		case $_pt_r in
		\\*) _pt_d=$_pt_d\\\\ ;;
		\"*) _pt_d=$_pt_d\\\" ;;
		"$_pt_tab"*) _pt_d=$_pt_d\\t ;;
		*) _pt_d=$_pt_d\\n ;;
		esac
		_pt_r=${_pt_r#?}
	done
}

pt_begin() {
	case $# in
	0 | 1) pt "${1-}.begin" ;;
	2) pt "$1.begin" "$2" ;;
	*) _pt_more begin "$@" ;;
	esac
} 2>/dev/null

pt_end() {
	case $# in
	0 | 1) pt "${1-}.end" ;;
	2) pt "$1.end" "$2" ;;
	*) _pt_more end "$@" ;;
	esac
} 2>/dev/null

# _pt_more END NAME DATA...
_pt_more() {
	_pt_m=$? _pt_e=$2.$1 _pt_j=$3
	\shift 3
	for _pt_c; do
		_pt_j="$_pt_j $_pt_c"
	done
	pt "$_pt_e" "$_pt_j" || :
	case $- in
	*e*) return 0 ;;
	esac
	return "$_pt_m"
}

# pt_step NAME CMD... runs CMD in a span. With set -e, a failure within a function must
# still end the script.
pt_step() {
	if {
		_pt_enter "$@" || :
		[ "$#" -eq 0 ] || \shift
		_pt_exits "${1-}"
	} 2>/dev/null; then
		"$@"
		{ _pt_status=$?; } 2>/dev/null
	elif "$@"; then
		{ _pt_status=0; } 2>/dev/null
	else
		{ _pt_status=$?; } 2>/dev/null
	fi
	{
		_pt_leave "$_pt_status" || :
		return "$_pt_status"
	} 2>/dev/null
}

# _pt_enter [NAME]... begins a span. Its key is unique in the script: background jobs may have
# spans of the same name at the same time. The variables of the spans around it have numbers.
_pt_enter() {
	_pt_c='' _pt_t='' _pt_deep=$((_pt_deep + 1))
	if [ -n "${PTRACE_SPOOL-}" ] && IFS=' ' \command read -r _pt_c _pt_r </proc/self/stat; then
		_pt_spans=$((_pt_spans + 1))
		_pt_c=$_pt_c.$_pt_spans
	fi
	[ -z "${TRACEPARENT-}" ] || _pt_context || _pt_t=''
	eval "_pt_name_$_pt_deep=\${1-} _pt_span_$_pt_deep=\$_pt_span _pt_new_$_pt_deep=\$_pt_t _pt_old_$_pt_deep=\${TRACEPARENT-}"
	_pt_key=${_pt_c:+:$_pt_c${_pt_span:+:$_pt_span}}
	if [ -n "$_pt_t" ]; then
		_pt_key=:$_pt_c:$_pt_span:$_pt_t:$_pt_j
		TRACEPARENT=$_pt_t
	fi
	_pt_span=$_pt_c
	pt "${1-}.begin" || :
	_pt_key=
}

# _pt_leave STATUS ends the span.
_pt_leave() {
	_pt_key=${_pt_span:+:$_pt_span}
	eval "_pt_c=\$_pt_name_$_pt_deep _pt_span=\$_pt_span_$_pt_deep _pt_t=\$_pt_new_$_pt_deep _pt_r=\$_pt_old_$_pt_deep"
	_pt_deep=$((_pt_deep - 1))
	# CMD may have changed it.
	if [ -n "$_pt_t" ] && [ "${TRACEPARENT-}" = "$_pt_t" ]; then
		TRACEPARENT=$_pt_r
	fi
	pt "$_pt_c.end" "$1" || :
	_pt_key=
}

# _pt_context makes the trace context of a new span with the key _pt_c: it sets _pt_t to the value of
# TRACEPARENT, and _pt_j to what the line of the spool has behind it. It fails if the value that came in
# is malformed or cannot be replaced, or if no stream would record the context.
_pt_context() {
	[ -n "$_pt_c" ] && { [ "$PTRACE_SPOOL" = "$_pt_spool" ] || _pt_known; } || return
	_pt_v=${TRACEPARENT%%-*} _pt_r=${TRACEPARENT#*-}
	_pt_d=${_pt_r%%-*} _pt_r=${_pt_r#*-}
	_pt_n=${_pt_r%%-*} _pt_r=${_pt_r#*-}
	_pt_m=${_pt_r%%-*}
	case ${#_pt_v}.${#_pt_d}.${#_pt_n}.${#_pt_m}.$_pt_v$_pt_d$_pt_n$_pt_m in
	2.32.16.2.*[!0123456789abcdef]* | 2.32.16.2.ff*) _pt_v='' ;;
	2.32.16.2.*) ;;
	*) _pt_v='' ;;
	esac
	case $_pt_d in *[!0]*) ;; *) _pt_v='' ;; esac
	case $_pt_n in *[!0]*) ;; *) _pt_v='' ;; esac
	case $TRACEPARENT in
	"$_pt_v-$_pt_d-$_pt_n-$_pt_m") ;;
	00-* | '') _pt_v='' ;;
	"$_pt_v-$_pt_d-$_pt_n-$_pt_m-"*) ;;
	*) _pt_v='' ;;
	esac
	if [ -z "$_pt_v" ]; then
		if [ -z "$_pt_odd" ]; then
			_pt_odd=1
			_pt_j=$_pt_c
			pt tracecontext.malformed "TRACEPARENT=$TRACEPARENT"
			_pt_c=$_pt_j
		fi
		return 1
	fi
	case $_pt_m in # reserved flags are not passed on
	?[048c]) _pt_m=00 ;;
	?[159d]) _pt_m=01 ;;
	?[26ae]) _pt_m=02 ;;
	*) _pt_m=03 ;;
	esac
	_pt_v=''
	\command read -r _pt_v </proc/sys/kernel/random/uuid
	_pt_r=${_pt_v%%-*}${_pt_v#????????-????-????-????-????}
	case ${#_pt_r}.$_pt_r in
	16.*[!0]*) ;;
	*) return 1 ;;
	esac
	_pt_v=${TRACESTATE-}
	case $_pt_v in
	*"$_pt_tab"* | *"$_pt_nl"*) _pt_v='' ;;
	esac
	[ "${#_pt_v}" -le 512 ] || _pt_v=''
	(TRACEPARENT=$_pt_r) || return # readonly
	_pt_t=00-$_pt_d-$_pt_r-$_pt_m _pt_j=$_pt_n:$_pt_v
} 2>/dev/null

# _pt_exits CMD succeeds if a failure within CMD may end the script.
_pt_exits() {
	case $- in
	*e*) ;;
	*) return 1 ;;
	esac
	case $(\command -v -- "$1") in
	/*) return 1 ;;
	esac
}
