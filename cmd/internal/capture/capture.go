// Package capture passes the output of a command through unchanged and records it
// line by line.
//
// A Pump copies one pipe to the file that its output belongs to. It writes each batch
// before it records the batch, so that output never waits for tracing. A Splitter
// cuts the batch into lines and hands them to a Sink: Output records them as events,
// and ptrace-event has Sinks of its own. A queue moves the recording of much output to
// a goroutine of its own. A relay is a process that continues to copy pipes that are
// still open when ptrace-run exits.
//
// The clock is read once per batch, and no line is copied: each line is recorded where
// it was read, and the byte in front of it (the newline of the line before, which is
// recorded already) carries the flags of the event.
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
	// Line receives one line: framed[1:], without its newline or carriage return. framed[0] is
	// scratch space. The sink may use framed until Line returns.
	Line(framed []byte, f Flags)
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

	OnBatch func(at int64) // if not nil, Batch calls it with the time of the batch

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
	framed[0] = o.flag[f&allFlags]
	o.rec.Record(o.ev, framed)
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
