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

// label gives the commands their labels. The commands of one program are compared with each other:
// arguments that all have tell nothing.
func label(commands []*Command) {
	groups := map[string][]*Command{}
	for _, c := range commands {
		groups[c.Program()] = append(groups[c.Program()], c)
	}
	for name, group := range groups {
		if allAlike(group) {
			_, argv := group[0].Argv()
			text := name
			if whole := strings.Join(append([]string{name}, operands(argv)...), " "); len(whole) <= wholeLabel {
				text = whole
			} else if words := pick(name, argv, nil); len(words) > 0 {
				text = name + " " + strings.Join(words, " ")
			}
			for _, c := range group {
				c.label = text + c.suffix()
			}
			continue
		}
		common := commonArguments(group)
		for _, c := range group {
			_, argv := c.Argv()
			c.label = name
			if words := pick(name, argv, common); len(words) > 0 {
				c.label += " " + strings.Join(words, " ")
			}
			c.label += c.suffix()
		}
	}
}

func (c *Command) suffix() string {
	if c.Forked {
		return " (fork)"
	}
	return ""
}

// operands returns the arguments after the name.
func operands(argv []string) []string { return argv[min(1, len(argv)):] }

func allAlike(group []*Command) bool {
	for _, c := range group[1:] {
		if string(c.args) != string(group[0].args) {
			return false
		}
	}
	return true
}

// commonArguments returns the arguments that all commands of a group have.
func commonArguments(group []*Command) map[string]bool {
	_, argv := group[0].Argv()
	common := map[string]bool{}
	for _, a := range operands(argv)[:min(len(operands(argv)), maxCompared)] {
		common[a] = true
	}
	for _, c := range group[1:] {
		_, argv := c.Argv()
		for a := range common {
			if !slices.Contains(operands(argv), a) {
				delete(common, a)
			}
		}
	}
	return common
}

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

// classify returns the class of an argument that follows another one.
func classify(program, before, a string) class {
	valued := len(before) > 1 && before[0] == '-'
	switch {
	case len(a) > 1 && a[0] == '-':
		return option
	case a == "":
		return temporary
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
