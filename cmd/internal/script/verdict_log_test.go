package script_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// summaryOf returns the summary of events, a line for each as ptrace-dump writes it: the time, the process,
// the type and the data. Of proc.exit the usage may be missing.
func summaryOf(t *testing.T, log string) string {
	t.Helper()
	o := &summary.Options{Top: summary.Screen}
	a := summary.New(o)
	addLog(t, a, log)
	a.Finish()
	return string(summary.Append(nil, a, 0, o))
}

// whyOf returns the answer of --why, or for 0 lines that in JSON.
func whyOf(t *testing.T, log string, lines int) string {
	t.Helper()
	w := summary.NewWhy()
	addLog(t, w.Analysis, log)
	return string(w.Append(nil, 0, &summary.WhyOptions{Lines: lines, JSON: lines == 0, Logs: []string{"x.trace"}}))
}

func addLog(t *testing.T, a *analysis.Analysis, log string) {
	t.Helper()
	source := a.NewSource(func(posixtrace.EventID) string { return "" })
	for line := range strings.Lines(log) {
		rec, err := parseEvent(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatalf("%s%v", line, err)
		}
		source.Add([]posixtrace.Record{rec})
	}
}

func parseEvent(line string) (rec posixtrace.Record, err error) {
	var at float64
	var name string
	if _, err := fmt.Sscan(line, &at, &rec.PID, &name); err != nil {
		return rec, err
	}
	rec.UnixNano, rec.TID = int64(math.Round(at*1e9)), rec.PID
	_, data, _ := strings.Cut(line, name)
	var quoted []string
	member := map[string]string{}
	for data = strings.TrimSpace(data); data != ""; data = strings.TrimSpace(data) {
		if text, err := strconv.QuotedPrefix(data); err == nil {
			value, err := strconv.Unquote(text)
			if err != nil {
				return rec, err
			}
			quoted, data = append(quoted, value), data[len(text):]
			continue
		}
		var word string
		word, data, _ = strings.Cut(data, " ")
		key, value, _ := strings.Cut(word, "=")
		member[key] = value
	}
	number := func(key string) int {
		n, e := strconv.Atoi(member[key])
		if e != nil && err == nil {
			err = e
		}
		return n
	}
	signal := func() int { return int(unix.SignalNum("SIG" + member["signal"])) }
	switch name {
	case "proc.fork":
		kind := slices.Index([]string{"fork", "vfork", "clone", "thread"}, member["kind"])
		rec.ID, rec.Data = posixtrace.EventProcFork, (&posixtrace.ForkData{Child: number("child"), Kind: posixtrace.ForkKind(max(kind, 0))}).Append(nil)
	case "proc.exec":
		if len(quoted) == 0 {
			return rec, fmt.Errorf("no path")
		}
		rec.ID, rec.Data = posixtrace.EventProcExec, (&posixtrace.ExecData{Path: quoted[0], Argv: append(quoted[:1:1], quoted[1:]...)}).Append(nil)
	case "proc.exit":
		d := posixtrace.ExitData{Signal: signal()}
		if d.Signal == 0 {
			d.Status = number("status")
		}
		rec.ID, rec.Data = posixtrace.EventProcExit, d.Append(nil)
	case "proc.timeout":
		rec.ID, rec.Data = posixtrace.EventProcTimeout, (&posixtrace.TimeoutData{Signal: signal()}).Append(nil)
	case "output.stdout", "output.stderr":
		if rec.ID = posixtrace.EventOutputStdout; name == "output.stderr" {
			rec.ID = posixtrace.EventOutputStderr
		}
		rec.Data = (&posixtrace.OutputData{Line: []byte(strings.Join(quoted, ""))}).Append(nil)
	default:
		return rec, fmt.Errorf("unknown type %s", name)
	}
	return rec, err
}
