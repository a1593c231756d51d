package dump

import (
	"os"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/files"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// fileModes are the modes that show what processes did with files. --files beside another one selects files.
var fileModes = []string{"history", "undeclared", "races", "unused", "dot", "files"}

// filesOptions are the options of these modes.
type filesOptions struct {
	globs    []string
	declared *files.Declared
}

func readFilesOptions(args *cli.Args, mode string) (o filesOptions, err error) {
	if !slices.Contains(fileModes, mode) {
		return o, nil
	}
	name := "files"
	if mode == "history" {
		name = mode
	}
	for _, v := range args.All(name) {
		if v != "" {
			o.globs = append(o.globs, v)
		} else if mode == "history" {
			return o, cli.BadValue(mode, v, os.ErrInvalid)
		}
	}
	if mode == "undeclared" {
		o.declared, err = files.OpenDeclared(args.Value("undeclared"))
	}
	return o, cli.WithStatus(err, 2)
}

// showFiles reads the inputs and writes what processes did with files.
func showFiles(env *cli.Env, inputs []*input, opt *options) error {
	f := files.New()
	w, err := newWalk(env, inputs, opt)
	if err != nil {
		return err
	}
	sources := map[*input]*files.Source{}
	for _, in := range inputs {
		sources[in] = f.NewSource(in.typeName)
	}
	if w.countable() && opt.sel.Include == nil && opt.sel.Exclude == nil {
		for _, in := range inputs {
			in.selectFiles(w)
		}
	}
	if err := walkEvents(w, sources); err != nil {
		return err
	}
	o := &files.Options{Globs: opt.files.globs, JSON: opt.json(), Top: opt.show.Top}
	sound := true
	for _, in := range inputs {
		if err := in.soundness(); err != nil && opt.head < 0 {
			env.Warn(err)
			sound = false
		}
		if st, err := in.status(); err == nil {
			o.Lost += st.Lost + st.LogLost
		}
	}
	found, known := false, true
	switch opt.mode {
	case "history":
		found, err = f.WriteHistory(env.Stdout, o)
		if err == nil && !found {
			return cli.Failf("no access to %s in %s", strings.Join(o.Globs, ", "), cli.Plural(f.Accesses, "file access", "file accesses"))
		}
		return err
	case "undeclared":
		found, known, err = f.WriteUndeclared(env.Stdout, o, opt.files.declared)
	case "races":
		found, known, err = f.WriteRaces(env.Stdout, o)
	case "dot":
		err = f.WriteGraph(env.Stdout, o)
	default:
		err = f.WriteTable(env.Stdout, o, opt.mode == "unused")
	}
	if err == nil && (found || !known || !sound) {
		return cli.Exit(1)
	}
	return err
}

// selectFiles has the reader skip the parts of a finished log without events that matter.
func (in *input) selectFiles(w *walk) {
	r := in.source.(*fileLog).reader()
	types, err := r.EventTypes()
	if err != nil {
		return
	}
	var set posixtrace.EventSet
	for _, t := range types {
		if files.Wants(t.ID, t.Name) {
			set.Add(t.ID)
		}
	}
	sel := selection.Between(w.since, w.until)
	sel.Types = &set
	r.Select(sel)
}
