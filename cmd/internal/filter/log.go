package filter

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/read/openlog"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// filterLog writes a log without the events that the filter rejects, or shows the filter
// for the event types of a log. It reports the names in asked that match no type.
func filterLog(env *cli.Env, args *cli.Args, ops []posixtrace.FilterOp, asked []string) error {
	from, to := args.Value("input"), args.Value("output")
	show := args.Has("list") || args.Has("dry-run")
	if len(args.Operands) > 0 {
		return cli.Usagef("extra operand '%s': --input names what is read", args.Operands[0])
	}
	f := env.Stdin
	name := "standard input"
	if from == "" {
		return cli.Failure("''", syscall.ENOENT)
	} else if from != "-" {
		name = from
		var err error
		if f, err = os.Open(from); err != nil {
			return cli.Failure(from, err)
		}
		defer f.Close()
	}
	l, err := openlog.Read(env, name, f, func() { env.Stdout.Flush() })
	if err != nil {
		return err
	}
	r := l.Reader
	defer r.Close()
	rejects := rejecter{ops: ops, name: func(id posixtrace.EventID) string {
		return catalog.TypeOrNumber(r.EventName(id), id)
	}}
	if show {
		if err := rejects.show(env, r, args.Has("list")); err != nil {
			return err
		}
		return noteUnmatched(env, l, asked)
	}
	out, err := openFiltered(env, to)
	if err != nil {
		return err
	}
	if l.Compressed() && out.replaces(f) {
		return cli.WithHint(cli.Failf("%s: a compressed log is not replaced, because the output is not compressed", to), "name another --output")
	}
	defer out.discard()
	err = r.WriteLog(out, func(rec *posixtrace.Record) bool { return !rejects.has(rec.ID) })
	switch {
	case out.err != nil:
		return cli.Failure(out.name, out.err)
	case err != nil:
		return cli.Failure(name, err)
	}
	unsound := noteUnmatched(env, l, asked)
	if unsound != nil && out.replaces(f) {
		return cli.WithHint(unsound, "it was not replaced by what is left of it; name another --output")
	}
	if out.replaces(f) {
		f.Close() // Windows cannot replace an open file
	}
	if err := out.keep(); err != nil {
		return cli.Failure(out.name, err)
	}
	return unsound
}

// noteUnmatched reports names that match no event type of a log that was read to its end, and returns
// what is wrong with the log. A log that is not whole may lack types.
func noteUnmatched(env *cli.Env, l *openlog.Log, asked []string) error {
	unsound := l.Soundness()
	if types, err := l.Reader.EventTypes(); unsound == nil && err == nil {
		selection.NoteUnmatched(env, asked, types)
	}
	return unsound
}

// rejecter decides which event types of a log a filter rejects. A pattern matches each name
// independently, so it does not matter where in the log a name is defined.
type rejecter struct {
	ops   []posixtrace.FilterOp
	name  func(posixtrace.EventID) string
	known [4096]int8 // by id: 1 accepted, -1 rejected, 0 unknown
}

func (r *rejecter) has(id posixtrace.EventID) bool {
	if int(id) < len(r.known) && r.known[id] != 0 {
		return r.known[id] < 0
	}
	rejected := false
	for _, op := range r.ops {
		set := selection.EventSet{Classes: op.Set, Patterns: op.Patterns}
		switch member := set.Has(id, r.name(id)); op.How {
		case posixtrace.FilterSet:
			rejected = member
		case posixtrace.FilterAdd:
			rejected = rejected || member
		case posixtrace.FilterSub:
			rejected = rejected && !member
		}
	}
	if int(id) < len(r.known) {
		r.known[id] = 1
		if rejected {
			r.known[id] = -1
		}
	}
	return rejected
}

// show prints the rejected event types, or all types of the log with the rejected ones
// marked.
func (r *rejecter) show(env *cli.Env, log *posixtrace.Reader, all bool) error {
	for { // a log that is read forward defines types on the way
		if _, err := log.Next(); err != nil {
			break
		}
	}
	var b []byte
	types, err := log.EventTypes()
	if err != nil {
		return err
	}
	for _, t := range types {
		mark := ""
		if all {
			if mark = "  "; r.has(t.ID) {
				mark = "- "
			}
		} else if !r.has(t.ID) {
			continue
		}
		b = append(catalog.AppendType(append(b, mark...), t.Name), '\n')
	}
	env.Stdout.Guard(escape.Text, true)
	_, err = env.Stdout.Write(b)
	return err
}

// filtered is the output log. A regular file is replaced when the log is complete; until
// then the log has no name, so that a killed command leaves nothing behind.
type filtered struct {
	name string
	path string      // of the file to replace; "" if the log goes to file directly
	temp string      // temporary name, if one is needed
	old  os.FileInfo // the file to replace; nil if there is none
	file *os.File
	env  *cli.Env
	err  error
}

// Write writes to the file and remembers errors.
func (o *filtered) Write(b []byte) (n int, err error) {
	if o.file == nil {
		if n, err = o.env.Stdout.Write(b); err != nil {
			o.err = err
		}
		return n, err
	}
	if n, err = o.file.Write(b); err != nil {
		o.err = logfile.Bare(err)
	}
	return n, err
}

func openFiltered(env *cli.Env, to string) (*filtered, error) {
	o := &filtered{name: to, env: env}
	if to == "-" {
		o.name = "standard output"
		if cli.IsTerminal(env.Stdout.Dest()) {
			return nil, cli.WithHint(cli.Failf("refusing to write a log to a terminal"), "ptrace-dump -x SET LOG prints what is left")
		}
		return o, nil
	}
	if to == "" {
		return nil, cli.Failure("''", syscall.ENOENT)
	}
	st, err := os.Stat(to)
	if err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return nil, cli.Failure(to, syscall.EISDIR)
		}
		if o.file, err = os.OpenFile(to, os.O_WRONLY|noTerminal, 0); err != nil {
			return nil, cli.Failure(to, err)
		}
		if cli.IsTerminal(o.file) {
			o.file.Close()
			return nil, cli.Failf("%s: refusing to write a log to a terminal", to)
		}
		return o, nil
	}
	mode := os.FileMode(0o666)
	if err == nil {
		if s := logfile.RecordedBy(st); s != nil {
			return nil, logfile.RecordedFault(to, s)
		}
		if !mayWrite(to) {
			return nil, cli.Failure(to, syscall.EACCES)
		}
		o.old, mode = st, st.Mode().Perm()
	}
	// Replace the target of a symbolic link, not the link.
	if o.path, err = filepath.EvalSymlinks(to); err != nil {
		if _, lerr := os.Lstat(to); lerr == nil || !errors.Is(err, os.ErrNotExist) {
			return nil, cli.Failure(to, logfile.Bare(err))
		}
		o.path = to
	}
	return o, cli.Failure(to, o.create(mode))
}

// create creates the file, without a name if the file system supports that.
func (o *filtered) create(mode os.FileMode) error {
	dir := filepath.Dir(o.path)
	file, err := openNameless(dir, o.path, mode)
	if err != nil {
		return err
	}
	if file != nil {
		o.file = file
		if o.old != nil {
			return o.file.Chmod(mode) // regardless of the umask
		}
		return nil
	}
	if o.file, err = os.CreateTemp(dir, ".ptrace-filter-*"); err != nil {
		return logfile.Bare(err)
	}
	o.temp = o.file.Name()
	if o.old == nil {
		mode &^= umask()
	}
	return o.file.Chmod(mode)
}

// replaces reports whether the output replaces f.
func (o *filtered) replaces(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && o.old != nil && os.SameFile(st, o.old)
}

// keep completes the log and gives it its name.
func (o *filtered) keep() error {
	if o.path == "" {
		if o.file == nil {
			return o.env.Stdout.Flush()
		}
		err := o.file.Close()
		o.file = nil
		return logfile.Bare(err)
	}
	if err := o.file.Sync(); err != nil {
		return logfile.Bare(err)
	}
	for i := 0; o.temp == ""; i++ {
		// Linking cannot replace a file, so link to a temporary name and rename.
		name := filepath.Join(filepath.Dir(o.path), ".ptrace-filter-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(i))
		err := linkNameless(o.file, name)
		switch {
		case err == nil:
			o.temp = name
		case err != syscall.EEXIST || i >= 100:
			return err
		}
	}
	err := o.file.Close()
	o.file = nil
	if err == nil {
		err = os.Rename(o.temp, o.path)
	}
	if err != nil {
		return renameReason(err)
	}
	o.temp = ""
	return nil
}

// renameReason removes the paths from an error.
func renameReason(err error) error {
	var e *os.LinkError
	if errors.As(err, &e) {
		return e.Err
	}
	return logfile.Bare(err)
}

// discard removes an incomplete log.
func (o *filtered) discard() {
	if o.file != nil {
		o.file.Close()
	}
	if o.temp != "" {
		os.Remove(o.temp)
	}
}
