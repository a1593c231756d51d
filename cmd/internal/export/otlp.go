package export

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/otlp"
	"github.com/posixtrace/posixtrace/cmd/internal/format/otlp/send"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// lines writes each batch as a line, as the file exporter of the Collector does.
type lines struct{ w io.Writer }

func (l lines) Traces(body []byte, _ int) error { return l.put(body) }

func (l lines) Logs(body []byte, _ int) error { return l.put(body) }

func (l lines) Metrics(body []byte, _ int) error { return l.put(body) }

func (l lines) put(body []byte) error {
	_, err := l.w.Write(append(body, '\n'))
	return err
}

// writeOTLP writes lines of OTLP/JSON: a file, or in a directory one file for each log, whose name no
// other log has.
func writeOTLP(j *job) error {
	dest := j.opt.dest
	if j.opt.sends {
		return j.sendLogs()
	}
	if dest == "-" {
		j.env.Stdout.Guard(escape.JSON, false) // a job may print it
		return j.writeLogs(j.logs, lines{j.env.Stdout})
	}
	if !isDirectory(dest) {
		return j.writeFile(dest, j.logs)
	}
	if err := makeDirectory(dest); err != nil {
		return err
	}
	for _, l := range j.logs {
		if err := j.writeFile(filepath.Join(dest, fileName(l)), []*log{l}); err != nil {
			return err
		}
	}
	return nil
}

// sendLogs sends logs to an endpoint. It fails because of a collector, the spool or the environment only
// if --strict asks for that, and because of an interrupt, after which a spool keeps what was not sent.
func (j *job) sendLogs() error {
	config, err := send.NewConfig(j.env.Getenv, j.opt.endpoint, j.env.Note)
	if err != nil {
		return cli.Failf("%v", err)
	}
	s := &send.Sender{Config: config, Spool: j.opt.spool, Limit: j.opt.timeout}
	s.Begin(j.ctx)
	j.readOn = s.Keeps()
	if err := j.writeLogs(j.logs, s); err != nil {
		return err
	}
	text, failed := s.Result()
	if s.Idle() {
		text, failed, j.empty = "nothing to send: no event is selected", true, true
	}
	switch {
	case text == "":
	case j.opt.strict && failed:
		j.env.Warn(cli.Failf("%s", text))
	default:
		j.env.Note(text)
	}
	if failed {
		return j.ctx.Err()
	}
	return nil
}

// writeFile writes a file that appears when it is whole.
func (j *job) writeFile(path string, logs []*log) error {
	err := logfile.Replace(path, 0o666, func(f *os.File) error { return j.writeLogs(logs, lines{f}) })
	return cli.Failure(path, logfile.Bare(err))
}

// fileName returns a name for the file of a log: when and where it was recorded, and its trace.
func fileName(l *log) string {
	r := otlp.NewResource(l.Reader, nil)
	host := strings.Map(func(c rune) rune {
		if c == '-' || c == '.' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			return c
		}
		return '_'
	}, r.Host)
	at := l.Reader.Attr().CreateTime.UTC().Format("20060102T150405Z")
	return at + "-" + host[:min(len(host), 64)] + "-" + r.TraceID() + otlpSuffix
}

const otlpSuffix = ".otlp.jsonl"

// writeLogs writes logs to a sink.
func (j *job) writeLogs(logs []*log, sink otlp.Sink) error {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	for _, l := range logs {
		here := l.Reader.Origin().BootID == strings.TrimSpace(string(boot))
		environment, malformed := otlp.Environment(j.env.Getenv, here)
		if malformed && l == j.logs[0] {
			j.env.Note("ignored: malformed OTEL_RESOURCE_ATTRIBUTES=" + escape.String(j.env.Getenv("OTEL_RESOURCE_ATTRIBUTES")))
		}
		w := otlp.New(sink, l.resource(environment), l.eventName)
		err := l.read(j.ctx, j, func(int64, bool) {}, func(recs []posixtrace.Record) error { return w.Add(recs) })
		if err != nil {
			return err
		}
		st := l.Reader.Status()
		if err := w.Close(st.Lost + st.LogLost); err != nil {
			return err
		}
	}
	return nil
}
