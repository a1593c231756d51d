// Package capture passes the output of a command through unchanged and records it
// line by line.
//
// A Pump copies one pipe to the file that its output belongs to. It records each batch
// before it writes the batch, so that a line that was shown is in the stream, whenever a
// signal kills this process. A Splitter cuts the batch into lines and hands them to a Sink:
// Output records them as events, and ptrace-event has Sinks of its own. The beginning of a
// line is not an event yet; the sink announces it in the stream, where it counts as lost if
// this process dies. A relay is a process that continues to copy pipes that are still open
// when ptrace-run exits.
//
// The clock is read once per batch, and no line is copied: each line is recorded where
// it was read, and the byte in front of it (the newline of the line before, which is
// recorded already) carries the flags of the event meanwhile.
//
// ptrace-run captures its command's output with this package; ptrace-event -l reads
// its standard input with it.
package capture

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Flags describe the end of a line: 0 for a newline.
type Flags uint8

const (
	// NoNewline: the input ended within this line.
	NoNewline Flags = 1 << iota
	// Continues: the line is longer than the limit; the next call has more of it.
	Continues
	// Return: a carriage return that no newline follows ended the line.
	Return
)

const allFlags = NoNewline | Continues | Return

// Sink receives the lines of a stream of bytes.
type Sink interface {
	// Batch precedes the lines that one read completed.
	Batch()
	// Line receives one line: framed[1:], without its newline or carriage return. The sink may
	// use framed until Line returns, and may change framed[0] in the meantime.
	Line(framed []byte, f Flags)
	// Partial follows the lines of a batch: whether the batch ends within a line.
	Partial(line bool)
}

// Recorder is what Output needs of a posixtrace.Recorder.
type Recorder interface {
	Now() int64
	Record(ev posixtrace.EventInfo, data []byte) bool
}

// Output is the Sink that records lines as output.stdout or output.stderr.
type Output struct {
	rec  Recorder
	ev   posixtrace.EventInfo
	flag [allFlags + 1]byte // the first byte of the event's data, by Flags

	partial bool

	OnBatch func(at int64) // if not nil, Batch calls it with the time of the batch

	// Owe, if not nil, announces in the stream that a line has started, and that it was recorded.
	Owe func(id posixtrace.EventID, owing bool)

	// Rewrite, if not nil, returns the line to be recorded in place of the one that was read.
	Rewrite func(line []byte, f Flags) []byte
	scratch []byte
}

// NewOutput returns a Sink that records events of type id as process pid.
func NewOutput(rec Recorder, id posixtrace.EventID, pid int) *Output {
	o := &Output{rec: rec, ev: posixtrace.EventInfo{ID: id, PID: pid}}
	for f := range o.flag {
		d := posixtrace.OutputData{NoNewline: Flags(f)&NoNewline != 0, Continues: Flags(f)&Continues != 0, Return: Flags(f)&Return != 0}
		o.flag[f] = d.Append(nil)[0]
	}
	return o
}

// Batch reads the time that the following lines get.
func (o *Output) Batch() {
	o.ev.UnixNano = o.rec.Now()
	if o.OnBatch != nil {
		o.OnBatch(o.ev.UnixNano)
	}
}

// Line records one line.
func (o *Output) Line(framed []byte, f Flags) {
	if o.Rewrite != nil {
		line := o.Rewrite(framed[1:], f)
		if len(line) != len(framed)-1 || len(line) > 0 && &line[0] != &framed[1] {
			o.scratch = append(append(o.scratch[:0], 0), line...)
			framed = o.scratch
		}
	}
	before := framed[0]
	framed[0] = o.flag[f&allFlags]
	o.rec.Record(o.ev, framed)
	framed[0] = before
	if f&Continues == 0 {
		o.Partial(false)
	}
}

// Partial announces a line that is not complete, or that it was recorded.
func (o *Output) Partial(line bool) {
	if line != o.partial {
		if o.partial = line; o.Owe != nil {
			o.Owe(o.ev.ID, line)
		}
	}
}

// LineLimit returns the length of the longest line that fits, beside the flags, into
// one output event of a stream with this max-data-size. For a stream that keeps less than
// two bytes of data it returns the default: the stream then truncates whole lines.
func LineLimit(maxDataSize int) int {
	if maxDataSize < 2 {
		return defaultLimit
	}
	return min(maxDataSize-1, maxLimit)
}
