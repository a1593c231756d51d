package dump

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/report"
)

// writePage reads the inputs and writes them as one HTML page.
func writePage(env *cli.Env, inputs []*input, opt *options) error {
	b := report.NewBuilder()
	sources := map[*input]*report.Source{}
	facts := report.Facts{}
	for _, in := range inputs {
		sources[in] = b.NewSource(in.typeName)
		facts.Logs = append(facts.Logs, filepath.Base(in.name))
	}
	w, err := newWalk(env, inputs, opt)
	if err != nil {
		return err
	}
	if err := walkEvents(w, sources); err != nil {
		return err
	}
	var states []string
	for _, in := range inputs {
		if st, err := in.status(); err == nil {
			facts.Lost += st.Lost + st.LogLost
		}
		if err := in.soundness(); err != nil && opt.head < 0 {
			env.Warn(err)
			facts.Warnings = append(facts.Warnings, cli.AsFault(err).Text)
		}
		if state := in.state(); !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	facts.Name, facts.State = strings.Join(facts.Logs[:min(len(facts.Logs), namedLogs)], ", "), strings.Join(states, ", ")
	if more := len(facts.Logs) - namedLogs; more > 0 {
		facts.Name += " and " + strconv.Itoa(more) + " more"
	}
	return report.Write(env.Stdout, []*report.Run{b.Finish(facts)}, &report.Options{})
}

// namedLogs bounds the names of merged logs in the verdict. The lanes have all.
const namedLogs = 4
