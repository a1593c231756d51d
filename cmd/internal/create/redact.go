package create

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// keeperPatterns is the descriptor from which the keeper reads the patterns: a file of patterns may be
// a pipe, which cannot be read twice, and the keeper's own arguments do not have them.
const keeperPatterns = 5

// conceal replaces the secrets in messages, in the name of the stream and in the command line that it records.
func (p *plan) conceal(env *cli.Env) {
	if p.redact == nil {
		return
	}
	env.Conceal = p.redact.String
	p.name = newstream.Conceal(&p.attr, p.redact.String)
	tool.RewriteCommandLine(p.redact.CommandLine)
}

// publishPatterns passes the patterns to the processes that record in the stream.
func (p *plan) publishPatterns(stream, spool string) error {
	if p.redact == nil {
		return nil
	}
	if spool == "" || redact.Publish(stream, p.redact) != nil {
		return cli.Failf("no room for the patterns of --redact")
	}
	return nil
}

// sendPatterns returns a pipe from which the keeper reads the patterns.
func (p *plan) sendPatterns() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		w.Write(p.redact.Encode())
		w.Close()
	}()
	return r, nil
}

// receivePatterns reads the patterns in the keeper.
func (p *plan) receivePatterns(args *cli.Args) error {
	if !args.Has("redact") && !args.Has("redact-file") {
		return nil
	}
	f := os.NewFile(keeperPatterns, "patterns")
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	set, ok := redact.Decode(text)
	if !ok {
		return errKeeperOnly
	}
	p.redact = set
	return nil
}

// hidePatterns returns the arguments of the keeper: those of the caller without the patterns.
func (p *plan) hidePatterns(argv []string) []string {
	argv = slices.Clone(argv)
	for i, arg := range argv {
		if p.redact != nil && (strings.HasPrefix(arg, "--r") || i > 0 && strings.HasPrefix(argv[i-1], "--r")) {
			argv[i] = p.redact.CommandLine([]string{arg})[0]
		}
	}
	return argv
}
