package analysis

import (
	"path"
	"slices"
	"strings"
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
	_, argv := argvOf(args)
	for a := range g.common {
		if !slices.Contains(operands(argv), a) {
			delete(g.common, a)
		}
	}
}

func firstOperands(args []byte) []string {
	_, argv := argvOf(args)
	list := operands(argv)
	return list[:min(len(list), maxCompared)]
}

// Of returns the label of a command, which may be a fork of one.
func (l *Labels) Of(args []byte, forked bool) string {
	name := string(programName(args))
	_, argv := argvOf(args)
	text := name
	g := l.programs[name]
	var words []string
	if g != nil && !g.differ && g.first == string(args) {
		if whole := strings.Join(append([]string{name}, operands(argv)...), " "); len(whole) <= wholeLabel {
			text = whole
		} else {
			words = pick(name, argv, nil)
		}
	} else if g != nil {
		words = pick(name, argv, g.common)
	} else {
		words = pick(name, argv, nil)
	}
	if len(words) > 0 {
		text += " " + strings.Join(words, " ")
	}
	if forked {
		text += " (fork)"
	}
	return text
}

// SpanLabel returns what a span is called: the place and text of a step, or the name and the first
// line of the data of its begin. It is as untrusted as they are.
func SpanLabel(name string, data []byte) string {
	if name == stepName && isStep(data) {
		return string(data)
	}
	if w := word(string(data)); w != "" {
		return name + " " + w
	}
	return name
}

// operands returns the arguments after the name.
func operands(argv []string) []string { return argv[min(1, len(argv)):] }

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
var outputs = []string{"-o", "-MF", "-MT", "-MQ", "-I", "-L", "-isystem", "-include", "-idirafter", "-iquote", "-dumpbase-ext", "-dumpdir"}

// flags begin the options of compilers that have no value.
var flags = []string{"-O", "-W", "-f", "-m", "-g", "-D", "-std=", "-pipe", "-S", "-E", "-shared", "-c", "--"}

// subjects are options whose value says what a program works on.
var subjects = map[string]string{"compile": "-p", "asm": "-p", "vet": "-p", "link": "-o"}

// shells have options of the form -eo NAME.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "ksh": true, "zsh": true}

// classify returns the class of an argument that follows another one.
func classify(program, before, a string) class {
	valued := len(before) > 1 && before[0] == '-'
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

// isTemporary reports whether a path or a hash differs from run to run.
func isTemporary(a string) bool {
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
func pick(program string, argv []string, common map[string]bool) []string {
	var of [classes][]string
	args := operands(argv)
	for i, a := range args[:min(len(args), 2)] { // go build -toolexec: after the tool, which may be a script
		if tool := path.Base(a); path.IsAbs(a) && subjects[tool] != "" {
			return append([]string{tool}, pick(tool, args[i:], common)...)
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

// word shortens an argument.
func word(a string) string {
	a, more, cut := strings.Cut(strings.TrimLeft(a, " \t\n"), "\n")
	if base := path.Base(a); !cut && !strings.Contains(a, " ") && len(base) > 1 && (path.IsAbs(a) || len(a) > 24) {
		a = base
	}
	if len(a) > maxWord {
		return strings.ToValidUTF8(a[:maxWord], "") + "..."
	}
	if cut && strings.TrimSpace(more) != "" {
		return a + " ..."
	}
	return a
}
