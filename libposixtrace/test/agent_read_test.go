package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

func init() { tracetest.Helpers["agent-random-log"] = randomLog }

// randomLog makes a log with events of many types and sizes, of which the largest are truncated.
func randomLog(args []string) {
	ok := func(err error) { tracetest.Check(err == nil, "%v", err) }
	f, err := os.Create(args[0])
	ok(err)
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{
		LogFullPolicy: posixtrace.PolicyAppend, StreamSize: 32 << 20, MaxDataSize: new(20000),
	}, f)
	ok(err)
	ok(s.Start())
	r := rand.New(rand.NewPCG(1, 2))
	var ids []posixtrace.EventID
	for i := range 50 {
		id, err := posixtrace.OpenEventID(fmt.Sprint("agent.read.", i))
		ok(err)
		ids = append(ids, id)
	}
	data := make([]byte, 30000)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for range 20000 {
		n := r.IntN(40)
		if r.IntN(100) == 0 {
			n = r.IntN(len(data))
		}
		posixtrace.Event(ids[r.IntN(len(ids))], data[:n])
	}
	ok(s.Shutdown())
	fmt.Println("ok")
}

// inGo returns the lines that agent_read prints.
func inGo(t *testing.T, path string, size int) string {
	t.Helper()
	f, err := os.Open(path)
	tracetest.OK(t, "open", err)
	defer f.Close()
	l, err := posixtrace.Open(f)
	tracetest.OK(t, "open", err)
	defer l.Close()
	var b strings.Builder
	for rec, err := range l.All() {
		tracetest.OK(t, "event", err)
		data := rec.Data
		if rec.ID == posixtrace.EventStart {
			data = make([]byte, 512) // an empty trace_event_set_t
		}
		truncation := rec.Truncation
		if len(data) > size {
			data, truncation = data[:size], posixtrace.TruncationRead
		}
		fmt.Fprintf(&b, "%d %d %d %x %d.%09d %d %d %x\n", rec.ID, rec.PID, rec.TID, rec.Address,
			rec.UnixNano/1e9, rec.UnixNano%1e9, truncation, len(data), data)
	}
	return b.String()
}

// A log read in C has the events that it has in Go, with all members, for any size of the buffer, and again
// after a rewind at any place.
func TestLogReadsAsInGo(t *testing.T) {
	program := agentProgram(t, "agent_read.c")
	path := filepath.Join(t.TempDir(), "log.trace")
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", ctest.TraceDir(t))
	tool.ForgetDirectory()
	tracetest.RunHelper(t, nil, "agent-random-log", path)
	for _, c := range []struct{ size, rewind int }{{64 << 10, -1}, {100, 0}, {0, 1}, {64 << 10, 700}, {20000, 19999}} {
		got := ctest.Run(t, program, path, strconv.Itoa(c.size), strconv.Itoa(c.rewind))
		if want := inGo(t, path, c.size); got != want {
			g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
			for i := range min(len(g), len(w)) {
				if g[i] != w[i] {
					t.Fatalf("buffer of %d, rewind after %d: event %d of %d is\n%.200s, want\n%.200s",
						c.size, c.rewind, i, len(w), g[i], w[i])
				}
			}
			t.Fatalf("buffer of %d, rewind after %d: %d events, want %d", c.size, c.rewind, len(g), len(w))
		}
	}
}
