package run

import (
	"path/filepath"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
)

// livePlan is what --live asks for.
type livePlan struct {
	on   bool
	file string // "" for standard error
}

// liveSize is the size of the stream with --live. What is overwritten before it was shown is not
// shown.
const liveSize = 8 << 20

// shows are the options that say how a recording is shown. Without one, --pid shows events as
// they happen.
var shows = []string{"log", "dump", "last", "summary", "report"}

// setLive reads --live.
func (p *runPlan) setLive(args *cli.Args) error {
	v, ok := args.Lookup("live")
	if !ok && (!args.Has("pid") || slices.ContainsFunc(shows, args.Has)) {
		return nil
	}
	p.live = livePlan{on: true, file: v}
	if v != "" && p.log != "" && filepath.Clean(v) == filepath.Clean(p.log) {
		return cli.Usagef("--live and --log name the same file")
	}
	if !args.Has("dump") {
		p.dump = "never"
	}
	newstream.DefaultSize(args, &p.attr, liveSize)
	return nil
}
