// Package cli is what the commands have in common: the parsing of arguments, help and
// version, the writing of results and messages, and the statuses. It alone imports the
// libraries for options and colours. Rules of the command line that hold for all
// commands are enforced here once.
package cli

import (
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	_ "github.com/posixtrace/posixtrace/cmd/internal/untraced" // commands look at streams more often than they record
)

// Command is one of the six programs.
type Command struct {
	Name    string   // ptrace-dump
	Usage   string   // what follows the name in the usage line; one line for each form
	Brief   string   // one sentence for --help
	Options []Option // beside --color, --help and --version, which all commands have
	After   string   // text after the options in --help, lines of at most 80 columns

	// StopAtOperand ends the options at the first operand, for commands
	// whose operands are a command line.
	StopAtOperand bool

	// VerbFirst says that the first operand is a verb, behind which options may stand
	// even where POSIXLY_CORRECT ends them at the first operand.
	VerbFirst bool

	// FailStatus and UsageStatus are the statuses of failures and usage
	// errors where they are not 1 and 2.
	FailStatus, UsageStatus int

	// Run does the work. It returns nil, or an error that is printed as it
	// should be read: made by usagef, failf, failure, or Exit.
	Run func(env *Env, args *Args) error

	// OnFailure, if set, is called before the command ends with a status that
	// is not 0.
	OnFailure func(env *Env)
}

// Main runs c as this process's program and exits with its status.
func Main(c *Command) {
	os.Exit(c.Execute(NewEnv(os.Args)))
}

// Execute runs c and returns its status.
func (c *Command) Execute(env *Env) int {
	env.Prog = c.Name
	err := c.execute(env)
	if werr := env.Stdout.Flush(); werr != nil && err == nil {
		err = werr
	}
	status := env.report(c, err)
	if status == 0 && env.failed {
		status = c.failStatus()
	}
	if status != 0 && c.OnFailure != nil {
		c.OnFailure(env)
		env.Stdout.Flush()
	}
	return status
}

func (c *Command) failStatus() int {
	if c.FailStatus != 0 {
		return c.FailStatus
	}
	return 1
}

func (c *Command) usageStatus() int {
	if c.UsageStatus != 0 {
		return c.UsageStatus
	}
	return 2
}

// execute parses the arguments, checks them by the rules of the option table, and calls Run.
func (c *Command) execute(env *Env) error {
	opts := c.AllOptions()
	if args := own(opts, env.Args); args != nil {
		return c.Run(env, args)
	}
	given, verb := env.Args, ""
	if c.VerbFirst && len(given) > 0 && !strings.HasPrefix(given[0], "-") {
		verb, given = given[0], given[1:]
	}
	args, err := parse(opts, given, c.StopAtOperand || env.Getenv("POSIXLY_CORRECT") != "")
	if err != nil {
		return err
	}
	// The library runs the command. It gets no options: what it does on its own account
	// (help on standard output after an error, os.Exit, its ideas of aliases and of -v) is
	// switched off here, and only here.
	app := &cli.App{
		Name:            c.Name,
		Compiled:        time.Unix(1, 0), // else the library asks for the time of its file
		HideHelp:        true,
		HideHelpCommand: true,
		HideVersion:     true,
		Writer:          env.Stdout,
		ErrWriter:       env.Stderr,
		ExitErrHandler:  func(*cli.Context, error) {},
		Action: func(ctx *cli.Context) error {
			args.Operands = ctx.Args().Slice()
			if verb != "" {
				args.Operands = append([]string{verb}, args.Operands...)
			}
			return c.act(env, args)
		},
	}
	return app.Run(append([]string{c.Name, "--"}, args.Operands...))
}

// act does what a parsed command line asks for.
func (c *Command) act(env *Env, args *Args) error {
	switch {
	case args.Has("help"):
		return c.WriteHelp(env.Stdout)
	case args.Has("version"):
		return printVersion(env.Stdout, c.Name)
	}
	env.setColor(args.Value("color"))
	if err := checkRules(c.Options, args); err != nil {
		return err
	}
	return c.Run(env, args)
}
