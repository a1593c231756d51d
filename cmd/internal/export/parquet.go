package export

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/ctf"
	"github.com/posixtrace/posixtrace/cmd/internal/format/otlp"
	"github.com/posixtrace/posixtrace/cmd/internal/format/parquet"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// writeParquet writes all logs to one file, or to a file each if the destination is a directory.
func writeParquet(j *job) error {
	dest := j.opt.dest
	switch {
	case dest == "-":
		if j.env.OnTerminal() {
			return cli.Failf("standard output is a terminal, and the format is not text")
		}
		return j.writeRows(j.env.Stdout, "standard output", j.logs)
	case !isDirectory(dest):
		return j.writeRowsTo(dest, j.logs)
	}
	if err := makeDirectory(dest); err != nil {
		return err
	}
	used := map[string]int{}
	for _, l := range j.logs {
		name := rowsName(l, j.opt.text)
		used[name]++
		if n := used[name]; n > 1 { // the same log twice
			name += "-" + strconv.Itoa(n)
		}
		if err := j.writeRowsTo(filepath.Join(dest, name+".parquet"), []*log{l}); err != nil {
			return err
		}
	}
	return nil
}

// endsInSeparator reports whether a path says that it is a directory.
func endsInSeparator(path string) bool { return path != "" && os.IsPathSeparator(path[len(path)-1]) }

// isDirectory reports whether a destination is a directory, or names one that is to be made.
func isDirectory(dest string) bool {
	if endsInSeparator(dest) {
		return true
	}
	st, err := os.Stat(dest)
	return err == nil && st.IsDir()
}

// makeDirectory makes a destination that isDirectory reports.
func makeDirectory(dest string) error {
	return cli.Failure(dest, logfile.Bare(os.MkdirAll(filepath.Clean(dest), 0o777)))
}

// rowsName returns a name for the file of a log, as fileName does. A selection is part of it.
func rowsName(l *log, selection string) string {
	name := strings.TrimSuffix(fileName(l), otlpSuffix)
	if selection != "" {
		h := sha256.Sum256([]byte(selection))
		name += "-" + hex.EncodeToString(h[:4])
	}
	return name
}

// writeRowsTo writes a file.
func (j *job) writeRowsTo(path string, logs []*log) error {
	return j.replaceFile(path, logs, func(f *os.File) error { return j.writeRows(f, path, logs) })
}

// replaceFile writes a file that appears when it is whole. It replaces another one, but no log.
func (j *job) replaceFile(path string, logs []*log, write func(f *os.File) error) error {
	if st, err := os.Stat(path); err == nil {
		for _, l := range j.logs {
			if in, err := l.File.Stat(); err == nil && st.Mode().IsRegular() && os.SameFile(st, in) {
				return cli.Failf("%s: is also the input", path)
			}
		}
		if err := logfile.CheckNoLog(path, st); err != nil {
			return err
		}
	}
	err := logfile.Replace(path, 0o666, write)
	return cli.Failure(path, logfile.Bare(err))
}

// writeRows writes a file.
func (j *job) writeRows(w io.Writer, name string, logs []*log) error {
	f := parquet.Create(w, "posixtrace", cli.Version())
	for _, l := range logs {
		if err := j.addRows(f, l); err != nil {
			return cli.Failure(name, logfile.Bare(err))
		}
	}
	return cli.Failure(name, logfile.Bare(f.Close()))
}

// addRows adds the events of a log.
func (j *job) addRows(f *parquet.File, l *log) error {
	attr, o := l.Reader.Attr(), l.Reader.Origin()
	command := l.redact.Strings(o.Command)
	p := &parquet.Log{
		ID: otlp.NewResource(l.Reader, nil).TraceID(), Log: l.Name, Host: o.Host, BootID: o.BootID, PID: o.Owner, Trace: l.redact.String(attr.Name), Command: command,
		Created: attr.CreateTime.UTC().Format(time.RFC3339Nano), Version: attr.GenerationVersion,
		CommandLine: ctf.Quote(command), Name: l.eventName,
	}
	err := f.Begin(p)
	if err == nil {
		err = l.read(j.ctx, j, func(int64, bool) {}, func(recs []posixtrace.Record) error { return f.Add(recs) })
	}
	st := l.Reader.Status()
	p.Lost = st.Lost + st.LogLost
	state, _ := l.Reader.State()
	p.State = state.String()
	return err
}
