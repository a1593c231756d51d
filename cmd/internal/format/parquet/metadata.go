package parquet

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	pq "github.com/parquet-go/parquet-go"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Log is a log whose events are in the file. Set all but the fields of the result.
type Log struct {
	ID      string   `json:"log_id"`
	Log     string   `json:"log"`
	Host    string   `json:"host"`
	BootID  string   `json:"boot_id"`
	PID     int      `json:"pid"`
	Trace   string   `json:"trace"`
	Command []string `json:"command"`
	Created string   `json:"created"` // RFC 3339
	Version string   `json:"version"` // of what recorded it

	Events uint64 `json:"events"` // rows of the log in this file
	Lost   uint64 `json:"lost"`   // events that the log lacks
	State  string `json:"state"`  // "finished", or why it is not whole

	CommandLine string                          `json:"-"` // Command as one text
	Name        func(posixtrace.EventID) string `json:"-"`

	same  [colPID - colLogID]pq.Value // the columns from colLogID
	names []pq.Value                  // by type
	calls []bool                      // which types are system calls, if names has them
	ends  *analysis.Ends
}

// Begin begins the events of a log.
func (f *File) Begin(l *Log) error {
	f.log = l
	f.logs = append(f.logs, l)
	for i, s := range []string{l.ID, l.Host, l.Trace, l.CommandLine, l.Log} {
		l.same[i] = text(s)
	}
	l.names, l.calls = make([]pq.Value, 64), make([]bool, 64)
	l.ends = analysis.NewEnds(l.Name)
	// A row group for each log lets readers skip the others, unless they would be many and small.
	if f.rows >= groupRows/8 {
		return f.endGroup()
	}
	return nil
}

// name returns the name of an event's type, or "#ID" if it has none.
func (l *Log) name(rec *posixtrace.Record) pq.Value {
	id := int(rec.ID)
	if id < len(l.names) && !l.names[id].IsNull() {
		return l.names[id]
	}
	name := l.Name(rec.ID) // not rec.Name, which has what --redact replaces
	v := text(catalog.TypeOrNumber(name, rec.ID))
	if name == "" {
		return v
	}
	if id >= len(l.names) {
		n := id + 1 - len(l.names) + 64
		l.names = append(l.names, make([]pq.Value, n)...)
		l.calls = append(l.calls, make([]bool, n)...)
	}
	l.names[id] = v
	l.calls[id] = rec.ID.System() && rec.ID > posixtrace.EventUnnamed && strings.HasPrefix(name, "syscall.")
	return v
}

// isCall reports whether an event is a system call. Its name has been asked for.
func (l *Log) isCall(rec *posixtrace.Record) bool {
	return int(rec.ID) < len(l.calls) && l.calls[rec.ID]
}

// setMetadata sets what the file says about the logs.
func (f *File) setMetadata() {
	events, lost := uint64(0), uint64(0)
	for _, l := range f.logs {
		events, lost = events+l.Events, lost+l.Lost
		if l.Command == nil {
			l.Command = []string{}
		}
	}
	b, err := json.Marshal(slices.Concat([]*Log{}, f.logs))
	if err != nil {
		panic(err) // strings and numbers
	}
	f.w.SetKeyValueMetadata("posixtrace.logs", string(b))
	f.w.SetKeyValueMetadata("posixtrace.events", strconv.FormatUint(events, 10))
	f.w.SetKeyValueMetadata("posixtrace.lost", strconv.FormatUint(lost, 10))
}
