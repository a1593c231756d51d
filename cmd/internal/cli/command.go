// Package cli handles the command line of all commands: it parses arguments, prints help and
// version, writes results and messages, and sets the exit status. Only this package imports
// the libraries for options and colours.
package cli

import (
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	_ "github.com/posixtrace/posixtrace/cmd/internal/startup/original" // commands rarely record
)

// Command is one of the eight programs.
type Command struct {
	Name    string   // ptrace-dump
	Usage   string   // usage line after the name; one line for each form
	Brief   string   // one sentence for --help
	Options []Option // besides --color, --help and --version, which all commands have
	After   string   // text after the options in --help, lines of at most 80 columns

	// StopAtOperand ends the options at the first operand, for commands whose operands are
	// a command line.
	StopAtOperand bool

	// Groups makes each "--" behind an operand an operand: it stands between groups of them. The
	// first "--" ends the options there, too.
	Groups bool

	// VerbFirst makes the first operand a verb. Options may follow it even if
	// POSIXLY_CORRECT ends the options at the first operand.
	VerbFirst bool

	// FailStatus and UsageStatus replace the exit statuses 1 for failures and 2 for usage
	// errors.
	FailStatus, UsageStatus int

	// Run does the work. Its error is printed as it reads: make it with Usagef, Failf,
	// Failure or Exit.
	Run func(env *Env, args *Args) error

	// OnFailure, if set, is called before the command exits with a status other than 0.
	OnFailure func(env *Env)
}

// Main runs c as the program of this process and exits with its status.
func Main(c *Command) {
	setZone()
	os.Exit(c.Execute(NewEnv(os.Args)))
}

// Execute runs c and returns its exit status.
func (c *Command) Execute(env *Env) int {
	env.Prog = c.Name
	err := prepareFiles()
	if err == nil {
		err = c.execute(env)
	}
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

// execute parses the arguments, checks the rules of the option table, and calls Run.
func (c *Command) execute(env *Env) error {
	opts := c.AllOptions()
	if args := own(opts, env.Args); args != nil {
		return c.Run(env, args)
	}
	given, verb := env.Args, ""
	if c.VerbFirst && len(given) > 0 && !strings.HasPrefix(given[0], "-") {
		verb, given = given[0], given[1:]
	}
	args, err := parse(opts, given, c.StopAtOperand || env.Getenv("POSIXLY_CORRECT") != "", c.Groups)
	if err != nil {
		return err
	}
	// urfave/cli does not parse: it uses package flag, which has no attached or optional arguments
	// of short options, no prefixes of long ones and no options after operands. It gets the operands
	// alone and runs the command. Its own help, version and exit are switched off.
	app := &cli.App{
		Name:            c.Name,
		Compiled:        time.Unix(1, 0), // otherwise the library stats its executable
		HideHelp:        true,
		HideHelpCommand: true,
		HideVersion:     true,
		Writer:          env.Stdout,
		ErrWriter:       env.Stderr,
		ExitErrHandler:  func(*cli.Context, error) {},
		Action: func(ctx *cli.Context) error {
			args.Operands = expand(ctx.Args().Slice())
			if verb != "" {
				args.Operands = append([]string{verb}, args.Operands...)
			}
			return c.act(env, args)
		},
	}
	return app.Run(append([]string{c.Name, "--"}, args.Operands...))
}

// act carries out a parsed command line.
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
