// Package capture records the output of a command line by line while it passes
// through, byte for byte as it was written.
//
// A Pump reads one pipe. What it has read it first writes on, so that output
// never waits for tracing; then it hands the lines of the batch to a Sink. There
// is one reading of the clock for a batch and no copy of a line: each line is
// recorded where it was read, and the byte in front of it (the newline of the
// line before, which is done with) carries the flags of the event.
package capture

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Flags tell what a Sink gets: a whole line, or not quite.
type Flags uint8

const (
	// NoNewline: the input ended within this line.
	NoNewline Flags = 1 << iota
	// Continues: the line is longer than the limit and goes on with the next call.
	Continues
	// Return: a carriage return ended the line, and no newline followed that.
	Return
)

const allFlags = NoNewline | Continues | Return

// Sink takes the lines of a stream of bytes.
type Sink interface {
	// Batch precedes the lines that became complete with one read.
	Batch()
	// Line takes one line: framed[1:], without its newline or carriage return. framed[0] is room
	// for the sink to write to, framed its own until Line returns.
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

	Began func(at int64) // if not nil, is called with the time of each batch
}

// NewOutput returns a Sink that records events of type id for process pid.
func NewOutput(rec Recorder, id posixtrace.EventID, pid int) *Output {
	o := &Output{rec: rec, ev: posixtrace.EventInfo{ID: id, PID: pid}}
	for f := range o.flag {
		d := posixtrace.OutputData{NoNewline: Flags(f)&NoNewline != 0, Continues: Flags(f)&Continues != 0, Return: Flags(f)&Return != 0}
		o.flag[f] = d.Append(nil)[0]
	}
	return o
}

// Batch takes the time for the lines that follow.
func (o *Output) Batch() {
	o.ev.UnixNano = o.rec.Now()
	if o.Began != nil {
		o.Began(o.ev.UnixNano)
	}
}

// Line records one line.
func (o *Output) Line(framed []byte, f Flags) {
	framed[0] = o.flag[f&allFlags]
	o.rec.Record(o.ev, framed)
}

// LineLimit returns the longest line that one output event of a stream with
// this max-data-size holds beside its flags. A stream that keeps no data to
// speak of gets whole lines to cut.
func LineLimit(maxDataSize int) int {
	if maxDataSize < 2 {
		return defaultLimit
	}
	return min(maxDataSize-1, maxLimit)
}
