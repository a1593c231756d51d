package summary

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

// step is a command line that shows more.
type step struct {
	command string
	about   []string // the keys, or what it records
}

// mostOperands bounds the logs in a command line.
const mostOperands = 4

// more says which commands show more of each key.
func (a *answer) more() {
	show := func(options string, keys ...whyKey) {
		var about []string
		for _, k := range keys {
			if l := a.lines[k]; len(l) > 0 && !l[0].empty {
				about = append(about, whyNames[k])
			}
		}
		if about != nil && a.Logs != nil {
			a.steps = append(a.steps, step{"ptrace-dump " + options + " " + a.operands(), about})
		}
	}
	if a.Events > 0 {
		show("-s", keyVerdict, keyWaited, keyMemory)
	}
	if !a.alone() {
		show("--tree", keyFailed, keyFrom)
	}
	show("--annotate=rel -N 50", keyOutput)
	if len(a.parts) > 0 {
		show("--timeline", keySlow)
	}
	if len(a.Unsound) > 0 {
		show("--check", keyLost)
	} else {
		show("--status", keyLost)
	}
	var options, records []string
	if _, lines := a.Pauses(); lines == 0 {
		options, records = append(options, "-c"), append(records, "output")
	}
	if a.alone() {
		options, records = append(options, "-e proc"), append(records, "commands")
	}
	if options != nil && a.Events > 0 {
		a.steps = append(a.steps, step{"ptrace-run " + strings.Join(options, " ") + " -o LOG COMMAND", []string{"records " + strings.Join(records, ", ")}})
	}
	for _, s := range a.steps {
		a.add(keyMore, line{before: s.command + "  # " + strings.Join(s.about, ", ")})
	}
	a.none(keyMore, "nothing")
}

// operands returns the logs as words for a shell, or a word for a person.
func (a *answer) operands() string {
	if len(a.Logs) > mostOperands {
		return "LOG..."
	}
	var words []string
	for _, name := range a.Logs {
		words = append(words, shellWord(name))
	}
	return strings.Join(words, " ")
}

// plainWord has the characters of words that no shell changes.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+@%,=-"

// shellWord returns a word for a shell, "LOG" for a name that cannot be shown as it is.
func shellWord(name string) string {
	option, value, _ := strings.Cut(name, "=")
	switch {
	case string(escape.AppendPrintable(nil, name)) != name || escape.HasCommand(name) || name == "":
		return "LOG"
	case name[0] == '-' && option != "--stream":
		return shellWord("./" + name)
	case strings.Trim(name, plainWord) == "":
		return name
	case option == "--stream":
		return option + "=" + shellWord(value)
	}
	return cli.ShellQuote(name)
}
