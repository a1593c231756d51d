package dump

import (
	"os"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/read/openlog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// log is what the sources that are logs have in common.
type log struct {
	*openlog.Log
	opened *os.File // to be closed; nil for standard input
}

// openLog opens a log in any state.
func openLog(e *cli.Env, name string, f *os.File, opt *options, out *sink) (*input, error) {
	opened := f
	if f == e.Stdin {
		opened = nil
	}
	l, err := openlog.Read(e, name, f, func() { out.flush() })
	if err != nil {
		return nil, err
	}
	common := log{l, opened}
	switch {
	case opt.follow && l.Compressed():
		l.Reader.Close()
		return nil, cli.WithHint(cli.Failf("%s: a compressed log cannot be followed", name), "without --follow it is read to its end")
	case l.Live != nil:
		return newInput(name, &pipeLog{log: common, follow: opt.follow, out: out}), nil
	case l.Compressed():
		return newInput(name, &packedLog{log: common}), nil
	}
	return newInput(name, newFileLog(common, opt.follow, out)), nil
}

func (l *log) reader() *posixtrace.Reader { return l.Reader }

func (l *log) eventName(id posixtrace.EventID) string { return l.Reader.EventName(id) }

func (l *log) readTypes() ([]posixtrace.EventType, error) { return l.Reader.EventTypes() }

func (l *log) status() (posixtrace.Status, error) { return l.Reader.Status(), nil }

func (l *log) soundness() error { return l.Soundness() }

func (l *log) state() string {
	state, _ := l.Reader.State()
	return state.String()
}

// attributes returns the attributes of the stream, and the origin of the log.
func (l *log) attributes(r *redact.Filter) (output.Fields, error) {
	f := attributeFields(l.Reader.Attr(), r)
	o := l.Reader.Origin()
	if o.PID != 0 { // not known if the process is younger than the log, as under ptrace-run
		f.Add("pid", o.PID)
	}
	f.Add("owner", o.Owner)
	f.Add("host", o.Host)
	f.Add("boot_id", o.BootID)
	f.Add("command", r.Strings(o.Command))
	f.Add("state", l.state())
	return f, nil
}

func (l *log) close() {
	l.Reader.Close()
	if l.opened != nil {
		l.opened.Close()
	}
}

// finishForward does what finish does, after a log was read forward.
func (l *log) finishForward() error { return drain(l.Reader) }

// allTypes lists the event types of a log that is read forward.
func (l *log) allTypes() ([]posixtrace.EventType, error) {
	if err := l.finishForward(); err != nil {
		return nil, err
	}
	return l.readTypes()
}
