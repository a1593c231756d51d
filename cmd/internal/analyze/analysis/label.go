package analysis

import (
	"path"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

// Label returns the program and what tells the command apart from others of the program:
// "cc1 number.c". It is as untrusted as the arguments.
func (c *Command) Label() string { return c.label }

// Program returns the name of the program.
func (c *Command) Program() string { return string(programName(c.args)) }

const (
	// wholeLabel is the length up to which the only command of a program is shown as it is.
	wholeLabel = 60
	// maxWord bounds an argument in a label, and maxWords their number.
	maxWord  = 60
	maxWords = 3
	// maxCompared bounds how many arguments of a command are compared with those of others.
	maxCompared = 256
)

// label gives the commands their labels.
func label(commands []*Command) {
	l := NewLabels()
	for _, c := range commands {
		l.Add(c.args)
	}
	for _, c := range commands {
		c.label = l.Of(c.args, c.Forked)
	}
}

// Labels are the labels of several commands. The commands of one program are compared with each
// other: arguments that all have tell nothing.
type Labels struct{ programs map[string]*group }

// group has the commands of one program.
type group struct {
	first    string // the data of its first command
	differ   bool   // not all commands have the same
	compared int
	common   map[string]bool // arguments that all have
}

// maxAlike bounds how many commands of a program are compared.
const maxAlike = 1 << 10

// NewLabels returns the labels of no commands.
func NewLabels() *Labels { return &Labels{programs: map[string]*group{}} }

// Add adds a command, by the data of its proc.exec.
func (l *Labels) Add(args []byte) {
	name := programName(args)
	g := l.programs[string(name)]
	switch {
	case g == nil:
		if len(l.programs) < maxPrograms {
			g = &group{first: string(args), common: map[string]bool{}}
			for _, a := range firstOperands(args) {
				g.common[a] = true
			}
			l.programs[string(name)] = g
		}
		return
	case !g.differ && string(args) == g.first, g.compared == maxAlike:
		return
	}
	g.differ = true
	g.compared++
	list := argumentsOf(args)
	for a := range g.common {
		if !slices.Contains(list, a) {
			delete(g.common, a)
		}
	}
}

func firstOperands(args []byte) []string {
	list := argumentsOf(args)
	return list[:min(len(list), maxCompared)]
}

// Of returns the label of a command, which may be a fork of one.
func (l *Labels) Of(args []byte, forked bool) string {
	name := string(programName(args))
	list := argumentsOf(args)
	shown := name
	if multicall[name] {
		if _, argv := argvOf(args); len(argv) > 0 && argv[0] != "" {
			shown = path.Base(argv[0])
		}
	}
	text := shown
	g := l.programs[name]
	var words []string
	if g != nil && !g.differ && g.first == string(args) {
		if whole := strings.Join(append([]string{shown}, list...), " "); len(whole) <= wholeLabel {
			text = whole
		} else {
			words = pick(shown, list, nil)
		}
	} else if g != nil {
		if words = pick(shown, list, g.common); words == nil {
			words = pick(shown, list, nil) // all have the same
		}
	} else {
		words = pick(shown, list, nil)
	}
	if len(words) > 0 {
		text += " " + strings.Join(words, " ")
	}
	if forked {
		text += " (fork)"
	}
	return text
}

// multicall are programs that are others under their names.
var multicall = map[string]bool{"busybox": true, "toybox": true, "coreutils": true}

// SpanLabel returns what a span is called: the place and text of a step, or the name and the first
// line of the data of its begin. It is as untrusted as they are.
func SpanLabel(name string, data []byte) string {
	if name == StepSpan && isStep(data) {
		return string(data)
	}
	if w := word(string(data)); w != "" {
		return name + " " + w
	}
	return name
}

// operands returns the arguments after the name.
func operands(argv []string) []string { return argv[min(1, len(argv)):] }

// argumentsOf returns the arguments of a command. The kernel executes a script by its interpreter, whose
// arguments have the path of the script a second time: ./deploy is executed as `env bash ./deploy one`.
func argumentsOf(args []byte) []string {
	script, argv := argvOf(args)
	list := operands(argv)
	for i, a := range list[:min(len(list), maxInterpreter)] {
		if a == script {
			return list[i+1:]
		}
	}
	return list
}

// maxInterpreter bounds the arguments of a script's first line, and those that env(1) adds.
const maxInterpreter = 4

// class ranks the arguments of a command: the lower, the more an argument says.
type class uint8

const (
	operand class = iota
	fileOfOption
	valueOfOption
	result
	temporary
	option
	classes
)

// outputs are options whose value is a file that the command writes, or looks into.
var outputs = []string{"-o", "-MD", "-MMD", "-MF", "-MT", "-MQ", "-I", "-L", "-isystem", "-include", "-idirafter", "-iquote", "-dumpbase", "-dumpbase-ext", "-dumpdir"}

// flags begin the options of compilers that have no value.
var flags = []string{"-O", "-W", "-f", "-m", "-g", "-D", "-std=", "-pipe", "-S", "-E", "-shared", "-c", "--"}

// subjects are options whose value says what a program works on.
var subjects = map[string]string{"compile": "-p", "asm": "-p", "vet": "-p", "link": "-o"}

// shells have options of the form -eo NAME.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "ksh": true, "zsh": true}

// classify returns the class of an argument that follows another one.
func classify(program, before, a string) class {
	valued := len(before) > 1 && before[0] == '-' && !(strings.HasPrefix(before, "--") && strings.Contains(before, "="))
	switch {
	case len(a) > 1 && a[0] == '-':
		return option
	case a == "":
		return temporary
	case shells[program] && valued && before[1] != '-' && before[len(before)-1] == 'o':
		return option
	case valued && subjects[program] == before:
		return operand
	case before == "-o":
		if isTemporary(a) {
			return temporary
		}
		return result
	case isTemporary(a):
		return temporary
	case !valued, before == "--":
		return operand
	case slices.Contains(outputs, before):
		return result
	case slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(before, f) && f != "--" }):
		return operand
	case strings.ContainsAny(a, "./"):
		return fileOfOption
	}
	return valueOfOption
}

// sources have the suffixes of files that people write, wherever they are.
var sources = wordSet(".c .cc .cpp .cxx .h .go .rs .java .py .sh .js .ts .rb .pl")

// isTemporary reports whether a path or a hash differs from run to run.
func isTemporary(a string) bool {
	if sources[path.Ext(a)] {
		return false
	}
	for _, dir := range []string{"/tmp/", "/var/tmp/", "/dev/fd/", "/proc/"} {
		if strings.HasPrefix(a, dir) {
			return true
		}
	}
	a = path.Base(a)
	digits, letters := 0, 0
	for i := range len(a) {
		switch c := a[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letters++
		case c != '-' && c != '_':
			return false
		}
	}
	return len(a) >= 32 && digits >= 6 && letters >= 6
}

// pick returns the arguments that say most, without those in common.
func pick(program string, args []string, common map[string]bool) []string {
	var of [classes][]string
	if i := wrapped(program, args); i < len(args) {
		if inner := path.Base(args[i]); inner != "" {
			return append([]string{inner}, pick(inner, args[i+1:], common)...)
		}
	}
	if words := inline(program, args); words != nil {
		return words
	}
	for i, a := range args[:min(len(args), 2)] { // go build -toolexec: after the tool, which may be a script
		if tool := path.Base(a); path.IsAbs(a) && subjects[tool] != "" {
			return append([]string{tool}, pick(tool, args[i+1:], common)...)
		}
	}
	if subject := subjects[program]; subject != "" {
		if i := slices.Index(args, subject); i >= 0 && i+1 < len(args) && !common[args[i+1]] {
			return []string{word(args[i+1])}
		}
	}
	before := ""
	for _, a := range args {
		k := classify(program, before, a)
		before = a
		if w := word(a); w != "" && !common[a] && !slices.Contains(of[k], w) {
			of[k] = append(of[k], w)
		}
	}
	if len(of[operand]) > maxWords && len(of[result]) > 0 {
		return []string{"-o", of[result][0]} // many inputs, one output
	}
	for _, words := range of {
		if len(words) > maxWords {
			return append(words[:maxWords:maxWords], "...")
		}
		if len(words) > 0 {
			return words
		}
	}
	return nil
}

// wrappers have the programs that execute another one, and their options that have a value.
var wrappers = map[string]string{
	"env": "-u -C -S --unset --chdir", "nice": "-n --adjustment", "nohup": "", "setsid": "", "sudo": "-u -g -h -p -C --user --group",
	"doas": "-u -C", "timeout": "-k -s --kill-after --signal", "stdbuf": "-i -o -e", "time": "-f -o", "ionice": "-c -n -p", "chrt": "",
	"taskset": "", "ccache": "", "sccache": "", "distcc": "", "strace": "-e -o -p -s", "ltrace": "-e -o -p", "valgrind": "", "xvfb-run": "-n -s -e -f",
	"unshare": "", "chroot": "", "flock": "-w -E", "watch": "-n", "catchsegv": "", "fakeroot": "", "xargs": "-n -P -I -L -d -s -a -E", "ptrace-run": "-e -o -t -n -S",
}

// before has how many operands of a wrapper are before the command.
var before = map[string]int{"timeout": 1, "chroot": 1, "flock": 1, "taskset": 1, "chrt": 1}

// wrapped returns where the command of a wrapper is, len(args) if it has none.
func wrapped(program string, args []string) int {
	values, ok := wrappers[program]
	if !ok {
		return len(args)
	}
	skip := before[program]
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--":
			return i + 1 + skip
		case len(a) > 1 && a[0] == '-':
			if slices.Contains(strings.Fields(values), a) {
				i++
			}
		case (program == "env" || program == "sudo") && strings.Contains(a, "="):
		case skip > 0:
			skip--
		default:
			return i
		}
	}
	return len(args)
}

// inlines have the options of interpreters that are followed by code, or by a module.
var inlines = map[string]string{"sh": "-c", "bash": "-c", "dash": "-c", "zsh": "-c", "ksh": "-c", "python": "-c -m", "python3": "-c -m", "python2": "-c -m",
	"perl": "-e -E -M", "ruby": "-e", "node": "-e -p --eval --print", "php": "-r", "lua": "-e"}

// inline returns the words of an interpreter that runs code of its command line, nil if it does not.
func inline(program string, args []string) []string {
	options := strings.Fields(inlines[strings.TrimRight(program, ".0123456789")] + " " + inlines[program])
	if len(options) == 0 || shells[program] {
		return nil
	}
	for i, a := range args {
		if i+1 < len(args) && slices.Contains(options, a) {
			return []string{a, word(args[i+1])}
		}
		if a == "" || a[0] != '-' {
			break
		}
	}
	return nil
}

// word shortens an argument.
func word(a string) string {
	a, more, cut := strings.Cut(strings.TrimLeft(a, " \t\n"), "\n")
	if base := path.Base(a); !cut && !strings.Contains(a, " ") && len(base) > 1 && (path.IsAbs(a) || len(a) > 24) {
		a = base
	}
	if len(a) > maxWord {
		return strings.ToValidUTF8(a[:escape.Cut(a, maxWord)], "") + "..."
	}
	if cut && strings.TrimSpace(more) != "" {
		return a + " ..."
	}
	return a
}
