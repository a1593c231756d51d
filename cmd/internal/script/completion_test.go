package script_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/create"
	"github.com/posixtrace/posixtrace/cmd/internal/ctl"
	"github.com/posixtrace/posixtrace/cmd/internal/diff"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"
	"github.com/posixtrace/posixtrace/cmd/internal/event"
	"github.com/posixtrace/posixtrace/cmd/internal/export"
	"github.com/posixtrace/posixtrace/cmd/internal/filter"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/run"
)

// The completions are generated from the option tables, so they match the commands; -update
// rewrites them.
func TestCompletions(t *testing.T) {
	for name, made := range map[string]string{
		"posixtrace.bash": bashCompletion(),
		"_posixtrace":     zshCompletion(),
		"posixtrace.fish": fishCompletion(),
	} {
		path := filepath.Join("..", "..", "..", "scripts", "share", "completions", name)
		if *update {
			if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(made, string(got)); diff != "" {
			t.Errorf("%s differs from the option tables; go test -run TestCompletions -update rewrites it (-made +file):\n%s", name, diff)
		}
	}
}

// argumentKind returns what completes the argument of an option: file, stream, events, pid,
// "words ..." or nothing.
func argumentKind(o *cli.Option, c *cli.Command) string {
	switch {
	case o.Choices != nil:
		return "words " + strings.Join(o.Choices, " ")
	case (c == run.Command || c == create.Command) && o.Long == "events":
		return "sources"
	case c == run.Command && o.Long == "capture":
		return "words out err out,err"
	}
	switch o.Arg {
	case "LOG", "FILE", "PATH", "DEST":
		return "file"
	case "STREAM":
		return "stream"
	case "SET":
		return "events"
	case "PID":
		return "pid"
	case "SIG":
		return "signal"
	}
	return "any"
}

// operandKind returns what completes the operands.
func operandKind(c *cli.Command) string {
	return map[*cli.Command]string{run.Command: "command", create.Command: "any", ctl.Command: "verbs", filter.Command: "stream", event.Command: "event", dump.Command: "input", diff.Command: "file", export.Command: "file"}[c]
}

// eventSources are the words of ptrace-run --events. Sets of events have them, too.
var eventSources = strings.Join(selection.Words(), " ")

// callClasses are the classes of system calls, and callNames their event types on any
// architecture, in lines of moderate length.
var (
	callClasses = strings.Join(catalog.CallClasses(), " ")
	callNames   = sync.OnceValue(func() string {
		names := map[string]bool{}
		for _, arch := range []string{"amd64", "arm64"} {
			table, err := os.ReadFile(filepath.Join("..", "record", "tracer", "names_"+arch+".go"))
			if err != nil {
				panic(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^\t\d+: +"(\w+)",$`).FindAllSubmatch(table, -1) {
				names["syscall."+string(m[1])] = true
			}
		}
		delete(names, "syscall.arch_specific_syscall")
		var b strings.Builder
		length := 0
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if length += len(name) + 1; length > 96 {
				b.WriteString(" \\\n\t\t")
				length = len(name)
			} else if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(name)
		}
		return b.String()
	})
)

const verbWords = "start stop clear flush shutdown status list"

const madeBy = "Made from the commands' tables of options by\n" +
	"#     go test ./cmd/internal/script -run TestCompletions -update\n" +
	"#\n" +
	"# What was typed, and names from a trace, are data: nothing of them is evaluated.\n"

func visible(c *cli.Command) (opts []cli.Option) {
	for _, o := range c.AllOptions() {
		if !o.Hidden {
			opts = append(opts, o)
		}
	}
	return opts
}

func bashCompletion() string {
	var b strings.Builder
	b.WriteString("# shellcheck shell=bash\n# Completion of the ptrace-* commands for bash. " + madeBy)
	b.WriteString(bashHead)
	b.WriteString("\n# The options of a command.\n_posixtrace_options() {\n\tcase $1 in\n")
	for _, c := range commands {
		var words []string
		for _, o := range visible(c) {
			if o.Short != 0 {
				words = append(words, "-"+string(rune(o.Short)))
			}
			word := "--" + o.Long
			if o.Optional {
				words = append(words, word)
			}
			if o.Arg != "" {
				word += "="
			}
			words = append(words, word)
		}
		fmt.Fprintf(&b, "\t%s) echo '%s' ;;\n", c.Name, strings.Join(words, " "))
	}
	b.WriteString("\tesac\n}\n\n# What an option takes; nothing for one that takes no argument.\n_posixtrace_kind() {\n\tcase $1:$2 in\n")
	for _, c := range commands {
		for _, o := range visible(c) {
			if o.Arg == "" {
				continue
			}
			var keys []string
			if !o.Optional {
				if o.Short != 0 {
					keys = append(keys, c.Name+":-"+string(rune(o.Short)))
				}
				keys = append(keys, c.Name+":--"+o.Long)
			}
			keys = append(keys, c.Name+":--"+o.Long+"=")
			fmt.Fprintf(&b, "\t%s) echo '%s' ;;\n", strings.Join(keys, " | "), argumentKind(&o, c))
		}
	}
	b.WriteString("\tesac\n}\n\n_posixtrace_operand() {\n\tcase $1 in\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "\t%s) echo %s ;;\n", c.Name, operandKind(c))
	}
	b.WriteString("\tesac\n}\n\n")
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name
	}
	fmt.Fprintf(&b, "complete -F _posixtrace %s\n", strings.Join(names, " "))
	return strings.NewReplacer("@SOURCES@", eventSources, "@VERBS@", verbWords, "@CLASSES@", callClasses, "@CALLS@", callNames()).Replace(b.String())
}

const bashHead = `
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
	printf '%s\n' @user @system @all @SOURCES@ @CLASSES@
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
		@CALLS@
}

_posixtrace_argument() { # KIND [WORD]...
	local kind=$1 before='' pid
	shift
	case $kind in
	file) compopt -o default ;;
	words) _posixtrace_offer < <(_posixtrace_words "$@") ;;
	verbs) _posixtrace_offer < <(_posixtrace_words @VERBS@) ;;
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
		[[ $kind == sources ]] && _posixtrace_offer "$before" < <(_posixtrace_words @SOURCES@ @CLASSES@)
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
`

func zshCompletion() string {
	var b strings.Builder
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name
	}
	b.WriteString("#compdef " + strings.Join(names, " ") + "\n# Completion of the ptrace-* commands for zsh. " + madeBy)
	b.WriteString(strings.NewReplacer("@SOURCES@", eventSources, "@CLASSES@", callClasses, "@CALLS@", callNames()).Replace(zshHead))
	b.WriteString("\n_posixtrace() {\n\tlocal curcontext=$curcontext context state line\n\ttypeset -A opt_args\n\tcase $service in\n")
	quote := strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`)
	for _, c := range commands {
		fmt.Fprintf(&b, "\t%s)\n\t\t_arguments -s -S", c.Name)
		if c.StopAtOperand {
			b.WriteString(" -A '-*'")
		}
		b.WriteString(" : \\\n")
		for _, o := range visible(c) {
			help := "[" + quote.Replace(o.Help) + "]"
			arg := ""
			if o.Arg != "" {
				arg = ":" + strings.ToLower(o.Arg) + ":" + zshAction(argumentKind(&o, c))
			}
			long, short := "--"+o.Long, ""
			switch {
			case o.Optional:
				long, arg = long+"=-", ":"+arg
			case o.Arg != "":
				long, short = long+"=", "+"
			}
			if o.Short != 0 {
				a := arg
				if o.Optional {
					a = ""
				}
				fmt.Fprintf(&b, "\t\t\t'*-%c%s%s%s' \\\n", o.Short, short, help, a)
			}
			fmt.Fprintf(&b, "\t\t\t'*%s%s%s' \\\n", long, help, arg)
		}
		b.WriteString("\t\t\t" + map[string]string{
			"command": `'(-)1:command:_command_names -e' '*::argument:_normal'`,
			"any":     `'1:name:_guard "^-*" name'`,
			"verbs":   `"1:verb:(` + verbWords + `)" '*:stream:_posixtrace_streams'`,
			"stream":  `'1:stream:_posixtrace_streams'`,
			"event":   `'1:event:_posixtrace_events' '*::argument:_normal'`,
			"input":   `'*:log or stream:_posixtrace_inputs'`,
			"file":    `'*:log:_files'`,
		}[operandKind(c)] + "\n\t\t;;\n")
	}
	b.WriteString("\tesac\n}\n\n_posixtrace \"$@\"\n")
	return b.String()
}

func zshAction(kind string) string {
	word, rest, _ := strings.Cut(kind, " ")
	switch word {
	case "file":
		return "_files"
	case "words":
		return "(" + rest + ")"
	case "stream":
		return "_posixtrace_streams"
	case "events":
		return "_posixtrace_sets"
	case "sources":
		return "_posixtrace_sources"
	case "pid":
		return "_pids"
	case "signal":
		return "_signals -s"
	}
	return " "
}

const zshHead = `
_posixtrace_streams() {
	local -a names
	names=(${(f)"$(_call_program streams timeout 2 ptrace-ctl list -q 2>/dev/null)"})
	compadd "$@" -a names
}

# The event types of the log or stream that the command line names.
_posixtrace_types() {
	local -a lines
	local stream=${${opt_args[-S]-}:-${opt_args[--stream]-}} word
	reply=()
	if [[ $service == (ptrace-dump|ptrace-diff|ptrace-export) ]]; then
		for word in ${words[2,-1]}; do
			if [[ $word != -* && -f $word ]]; then
				lines=(${(f)"$(timeout 2 ptrace-dump --types -- $word 2>/dev/null)"})
				reply=(${${${(M)lines:#[0-9]*}##[0-9]##[[:space:]]##}##[a-z]##[[:space:]]##})
				return
			fi
		done
	fi
	reply=(${(f)"$(timeout 2 ptrace-filter -l ${stream:+-S} ${stream:+$stream} 2>/dev/null)"})
	reply=(${reply#??})
}

_posixtrace_events() {
	local -a reply
	setopt localoptions extendedglob
	_posixtrace_types
	compadd "$@" -a reply
}

_posixtrace_sets() {
	local -a reply
	setopt localoptions extendedglob
	_posixtrace_types
	reply+=(@user @system @all @SOURCES@ @CLASSES@)
	compset -P '*,'
	compadd -S '' "$@" -a reply
}

_posixtrace_sources() {
	local -a reply
	compset -P '*,'
	reply=(@SOURCES@ @CLASSES@)
	[[ $PREFIX == syscall.* ]] && reply=(
		@CALLS@
	)
	compadd -S '' "$@" -a reply
}

_posixtrace_inputs() {
	_alternative 'streams:stream:_posixtrace_streams' 'files:log:_files'
}
`

func fishCompletion() string {
	var b strings.Builder
	b.WriteString("# Completion of the ptrace-* commands for fish. " + madeBy)
	b.WriteString(strings.NewReplacer("@SOURCES@", eventSources, "@CLASSES@", callClasses, "@CALLS@", strings.ReplaceAll(callNames(), "\n\t\t", "\n            ")).Replace(fishHead))
	b.WriteString("\n# Whether PROGRAM:OPTION takes the next word.\nfunction __posixtrace_takes\n    contains -- $argv[1]")
	for _, c := range commands {
		for _, o := range visible(c) {
			if o.Arg != "" && !o.Optional {
				fmt.Fprintf(&b, " \\\n        %s:--%s", c.Name, o.Long)
				if o.Short != 0 {
					fmt.Fprintf(&b, " %s:-%c", c.Name, o.Short)
				}
			}
		}
	}
	b.WriteString("\nend\n")
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	for _, c := range commands {
		fmt.Fprintf(&b, "\ncomplete -c %s -e\n", c.Name)
		before := ""
		if c.StopAtOperand {
			before = " -n __posixtrace_before_operand"
		}
		for _, o := range visible(c) {
			fmt.Fprintf(&b, "complete -c %s%s", c.Name, before)
			if o.Short != 0 {
				fmt.Fprintf(&b, " -s %c", o.Short)
			}
			b.WriteString(" -l " + o.Long)
			switch {
			case o.Arg == "":
			case o.Optional:
				b.WriteString(fishArguments(argumentKind(&o, c)))
			default:
				b.WriteString(" -r" + fishArguments(argumentKind(&o, c)))
			}
			fmt.Fprintf(&b, " -d '%s'\n", quote.Replace(o.Help))
		}
		fmt.Fprintf(&b, "complete -c %s%s\n", c.Name, map[string]string{
			"command": ` -x -a '(__fish_complete_subcommand --fcs-skip=1)'`,
			"any":     ` -f`,
			"verbs":   ` -f -n __posixtrace_before_operand -a '` + verbWords + `'` + "\ncomplete -c " + c.Name + ` -f -n 'not __posixtrace_before_operand' -a '(__posixtrace_streams)'`,
			"stream":  ` -f -a '(__posixtrace_streams)'`,
			"event":   ` -f -n __posixtrace_before_operand -a '(__posixtrace_types)'`,
			"input":   ` -F -a '(__posixtrace_streams)'`,
			"file":    ` -F`,
		}[operandKind(c)])
	}
	return b.String()
}

func fishArguments(kind string) string {
	word, rest, _ := strings.Cut(kind, " ")
	switch word {
	case "file":
		return " -F"
	case "words":
		return " -f -a '" + rest + "'"
	case "stream":
		return " -f -a '(__posixtrace_streams)'"
	case "events":
		return " -f -a '(__fish_complete_list , __posixtrace_sets)'"
	case "sources":
		return " -f -a '(__fish_complete_list , __posixtrace_sources)'"
	case "pid":
		return " -f -a '(__fish_complete_pids)'"
	case "signal":
		return " -f -a '(kill -l | string split \" \")'"
	}
	return " -f"
}

const fishHead = `
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
    if contains -- (path basename -- $words[1]) ptrace-dump ptrace-diff ptrace-export
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
    printf '%s\n' @user @system @all @SOURCES@ @CLASSES@
    __posixtrace_types
end

function __posixtrace_sources
    printf '%s\n' @SOURCES@ @CLASSES@
    if string match -q -- '*syscall.*' (commandline -ct)
        printf '%s\n' \
            @CALLS@
    end
end
`
