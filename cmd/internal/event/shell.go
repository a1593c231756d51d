package event

import (
	_ "embed"
	"os"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/spool"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The functions that --shell prints, for each shell. Without SHELL it prints them all, and
// the shell selects its own.
var (
	//go:embed shell/pt.sh
	shellSh string
	//go:embed shell/pt.bash
	shellBash string
	//go:embed shell/steps.bash
	shellSteps string
	//go:embed shell/pt.zsh
	shellZsh string
)

const errSteps = "--steps goes with --shell=bash"

var shellOptions = []cli.Option{
	{Long: "shell", Arg: "SHELL", Optional: true, Choices: []string{"sh", "bash", "zsh"}, Help: "print functions for eval that start no program: pt NAME [DATA], pt_begin, pt_end, pt_step NAME CMD...", OnlyWith: []string{"steps"}},
	{Long: "steps", Help: "--shell=bash: also a span for each command", OnlyWith: []string{"shell"}, Needs: cli.Need{AnyOf: []string{"shell"}, Text: errSteps}},
	{Long: "take-spool", Hidden: true, OnlyWith: []string{}},
}

// shellFunctions carries out --shell and --take-spool; done is false if neither was given.
func shellFunctions(env *cli.Env, args *cli.Args) (done bool, err error) {
	shell, take := args.Has("shell"), args.Has("take-spool")
	switch {
	case !shell && !take:
		return false, nil
	case len(args.Operands) > 0:
		return true, cli.Usagef("extra operand '%s'", args.Operands[0])
	case take:
		return true, takeForShell(env.Getenv(spool.Env))
	}
	return true, printShell(env, args.Value("shell"), args.Has("steps"))
}

func printShell(env *cli.Env, shell string, steps bool) error {
	if steps && shell != "bash" {
		return cli.Usagef(errSteps)
	}
	var text string
	switch shell {
	case "sh":
		text = shellSh
	case "bash":
		text = shellBash
		if steps {
			text += shellSteps
		}
	case "zsh":
		text = shellZsh
	default:
		// A shell parses all of the text, so the functions for other shells must be quoted.
		// steps.bash recognises each of these commands by its start.
		text = "if [ -n \"${_pt_event+${BASH_VERSION-}}\" ]; then\neval " + cli.ShellQuote(shellBash) +
			"\nelif [ -n \"${ZSH_VERSION-}\" ]; then\neval " + cli.ShellQuote(shellZsh) +
			"\nelse\n" + shellSh + "fi\n"
	}
	self, err := os.Executable()
	if err != nil {
		self = "ptrace-event"
	}
	if _, err := env.Stdout.WriteString("_pt_event=" + cli.ShellQuote(self) + "\n"); err != nil {
		return err
	}
	_, err = env.Stdout.WriteString(text)
	return err
}

// takeForShell drains a spool without an active consumer. A shell calls it when it finds
// the spool half full; it does not wait long for other consumers.
func takeForShell(path string) error {
	name, ok := spool.StreamOf(path)
	if !ok {
		return cli.Failf("%s is not set to a spool", spool.Env)
	}
	s, err := posixtrace.Attach(name)
	if err != nil {
		return cli.Failure(name, err)
	}
	defer s.Close()
	c, err := spool.NewConsumer(s, false)
	if err == nil {
		defer c.Close()
		_, err = c.Drain(shellWait)
	}
	return cli.Failure(name, err)
}

// shellWait bounds how long a shell waits for another consumer: as long as an active one
// takes.
const shellWait = 50 * time.Millisecond

// takeBeforeEvent drains the spool of a script before an event is recorded for the script,
// so that lines without a time are not recorded after the event. It does not disturb an
// active consumer.
func takeBeforeEvent(path string) {
	if path != "" && spool.Pending(path) {
		takeForShell(path)
	}
}
