package event

import (
	_ "embed"
	"os"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/spool"
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
	self, err := os.Executable()
	if err != nil {
		self = "ptrace-event"
	}
	event := "_pt_event=" + cli.ShellQuote(self) + "\n"
	bash, zsh := shellBash, event+shellZsh
	if steps {
		bash += shellSteps
	}
	bash = quietly(quietBash, aliasesBash+"\\builtin eval "+cli.ShellQuote(event+bash)+"\n\\builtin shopt \"$_pt_aliases\" expand_aliases\n")
	zsh = quietly(quietZsh, aliasesZsh+"\\builtin eval "+cli.ShellQuote(zsh)+"\n\\builtin setopt \"$_pt_aliases\"\n")
	sh := quietly(quietSh, event+shellSh)
	text := map[string]string{"sh": sh, "bash": bash, "zsh": zsh}[shell]
	if text == "" {
		// A shell parses all of the text, so the functions for other shells must be quoted.
		text = quietly(quietAny, "if [ -n \"${BASH_VERSION-}\" ]; then\neval "+cli.ShellQuote(bash)+
			"\nelif [ -n \"${ZSH_VERSION-}\" ]; then\neval "+cli.ShellQuote(zsh)+
			"\nelse\n"+event+shellSh+"fi\n")
	}
	_, err = env.Stdout.WriteString(text)
	return err
}

// quietly returns commands that carry out text, which ends with a newline, whatever the options of the
// shell are, without output of set -x and set -v but for the line that ends set -v.
func quietly(q quiet, text string) string {
	return q.first + " _pt_load=$-:${_pt_load-}; \\set +v; " + q.last + "\n" + q.first + "\n" + text +
		"case ${_pt_load%%:*} in *v*) \\set -v ;; esac\n_pt_load=${_pt_load#*:}\n" + q.rest + "\n"
}

// quiet is what stands around commands that set -x does not show, see pt.bash and pt.zsh: rest is last
// for commands at the end of a text.
type quiet struct{ first, last, rest string }

var (
	quietSh   = quiet{"{", "} 2>/dev/null", "} 2>/dev/null"}
	quietBash = quiet{"{ {", endBash, endBash}
	quietZsh  = quiet{
		"{",
		`} 2>"/dev/null${${:-$(( _pt_x = 0${${(M)-:#*x*}:+1} ))}:+}${${(M)${:-$-${(t)options-}}:#*x*assoc*}:+${${options[xtrace]::=off}:+}}"`,
		"(( ! _pt_x )) || \\builtin setopt xtrace\n} 2>/dev/null",
	}
	// For any shell: in bash it leads BASH_XTRACEFD to descriptor 2 until the end of the text.
	quietAny = quiet{
		"{",
		`} 2>"/dev/null${BASH_VERSION:+${BASH_XTRACEFD:+${_pt_no[_pt_traced=BASH_XTRACEFD,BASH_XTRACEFD=2]-}}}"`,
		"[ -z \"${BASH_VERSION:+${BASH_XTRACEFD-}}\" ] || BASH_XTRACEFD=$_pt_traced\n} 2>/dev/null",
	}
)

const endBash = `} {_pt_fd}>&-; [[ -z ${BASH_XTRACEFD-} ]] || 1023>&"${_pt_no[BASH_XTRACEFD=_pt_fd]-}-"; } 2>&"${_pt_no[(_pt_fd=10#0${BASH_XTRACEFD:+${BASH_XTRACEFD//[!0-9]/}})||(_pt_fd=1023)]-}-"`

// The commands before a text in quotes that keep the aliases of the script out of it.
const (
	aliasesBash = "_pt_aliases=-u\n! \\builtin shopt -q expand_aliases || _pt_aliases=-s\n\\builtin shopt -u expand_aliases\n"
	aliasesZsh  = "_pt_aliases=noaliases\n[[ ! -o aliases ]] || _pt_aliases=aliases\n\\builtin setopt noaliases\n"
)

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
