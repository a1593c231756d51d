package report

import (
	"bytes"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// lines are lines of captured output: the first and, if there are too many, the last ones.
type lines struct {
	room   int // lineRoom
	first  lineBlock
	last   []lineBlock
	size   int // of the last ones
	full   bool
	partly map[partKey]bool // the last line continues in the next event

	omittedLines, omittedBytes uint64
	shortened                  uint64 // lines longer than maxLine
	near                       bool   // one of standard output and one of standard error lie within nearLines
}

// lineBlock is a run of lines.
type lineBlock struct {
	text  []byte // as in the JSON, each with the separator behind it
	lines []line
	raw   uint64 // bytes of the text before it was encoded
}

type line struct {
	at     int64
	source int32
	stream uint8
	length int32 // of the raw text, more than maxLine if it is cut
}

type partKey struct {
	source int32
	stream uint8
}

const (
	// lineRoom bounds the lines in the JSON. A quarter is for the first ones; when the last ones take
	// more than the rest, the oldest block of them is left out.
	lineRoom  = 11_400_000
	blockRoom = 1 << 16
	// lineCost is about what the columns take for a line.
	lineCost = 5
	// maxLine bounds a line.
	maxLine = 1 << 16
	// nearLines is how long after a line on one pipe one on another may be read that was written before it.
	nearLines = int64(time.Millisecond)
)

// separator stands between two lines in the JSON.
const separator = `\n`

// oneLine shows the newlines that only a damaged or forged log has in a line.
func oneLine(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte("␊"))
}

// Values of line.stream.
const (
	onStdout = 1
	onStderr = 2
	returned = 4 // a carriage return ended the line
)

func (l *lines) add(rec *posixtrace.Record, source int32) {
	d, err := posixtrace.DecodeOutput(rec.Data)
	if err != nil {
		return
	}
	stream := uint8(onStdout)
	if rec.ID == posixtrace.EventOutputStderr {
		stream = onStderr
	}
	key := partKey{source, stream}
	b := l.current()
	joined := len(l.partly) > 0 && l.partly[key]
	if !joined && d.Return && escape.Blank(d.Line) {
		return
	}
	if joined {
		if n := len(b.lines); n > 0 && b.lines[n-1].source == source && b.lines[n-1].stream&^returned == stream {
			l.join(b, &b.lines[n-1], d.Line)
		} else {
			joined = false
		}
	}
	if !joined {
		if n := len(b.lines); n > 0 && b.lines[n-1].source == source && b.lines[n-1].stream&^returned != stream && since(rec.UnixNano, b.lines[n-1].at) < nearLines {
			l.near = true
		}
		if !l.full && len(b.text)+lineCost*len(b.lines) >= l.room/4 {
			l.full = true
			l.last = append(l.last, lineBlock{})
			b = l.current()
		} else if l.full && len(b.text) >= blockRoom {
			b = l.next()
		}
		text, length := cut(d.Line, maxLine), len(d.Line)
		if len(d.Line) > len(text) {
			length = maxLine + 1
			l.omittedBytes += uint64(len(d.Line) - len(text))
			l.shortened++
		}
		b.text = append(appendLineJSON(b.text, oneLine(text)), separator...)
		b.lines = append(b.lines, line{at: rec.UnixNano, source: source, stream: stream, length: int32(length)})
		b.raw += uint64(len(text))
	}
	if d.Return {
		b.lines[len(b.lines)-1].stream |= returned
	}
	if d.Continues {
		if l.partly == nil {
			l.partly = map[partKey]bool{}
		}
		l.partly[key] = true
	} else if len(l.partly) > 0 {
		delete(l.partly, key)
	}
}

// current returns the block to which lines are added.
func (l *lines) current() *lineBlock {
	if l.full {
		return &l.last[len(l.last)-1]
	}
	return &l.first
}

// join continues the last line.
func (l *lines) join(b *lineBlock, to *line, text []byte) {
	more := cut(text, max(maxLine-int(to.length), 0))
	if len(text) > len(more) {
		l.omittedBytes += uint64(len(text) - len(more))
		if to.length <= maxLine {
			l.shortened++
		}
		to.length = maxLine + 1
	} else {
		to.length += int32(len(more))
	}
	b.raw += uint64(len(more))
	b.text = append(appendLineJSON(b.text[:len(b.text)-len(separator)], oneLine(more)), separator...)
}

// next begins a block, and leaves out the oldest one if there is no room for it.
func (l *lines) next() *lineBlock {
	full := l.current()
	l.size += full.cost()
	var text []byte
	var list []line
	for l.size+blockRoom > l.room*3/4 && len(l.last) > 1 {
		old := l.drop()
		l.size -= old.cost()
		text, list = old.text[:0], old.lines[:0]
	}
	l.last = append(l.last, lineBlock{text: text, lines: list})
	return l.current()
}

// drop leaves out the oldest block of the last lines.
func (l *lines) drop() lineBlock {
	old := l.last[0]
	l.omittedLines += uint64(len(old.lines))
	l.omittedBytes += old.raw
	l.last = l.last[1:]
	return old
}

// fit leaves out lines in the middle until the rest has room.
func (l *lines) fit(room int) {
	size := 0
	for _, b := range l.blocks() {
		size += b.cost()
	}
	for size > room && len(l.last) > 1 {
		old := l.drop()
		size -= old.cost()
	}
}

func (b *lineBlock) cost() int { return len(b.text) + lineCost*len(b.lines) }

// blocks returns all lines in order.
func (l *lines) blocks() []lineBlock { return append([]lineBlock{l.first}, l.last...) }

// find returns a function that finds the line before a pause.
func (l *lines) find(a *analysis.Analysis) func(p *analysis.Pause) (int, bool) {
	type moment struct {
		source int32
		at     int64
	}
	index := map[moment]int{}
	pauses, _ := a.Pauses()
	for _, p := range pauses {
		index[moment{int32(p.Source), p.At}] = -1
	}
	n := 0
	for _, b := range l.blocks() {
		for _, x := range b.lines {
			m := moment{x.source, x.at}
			if _, ok := index[m]; ok {
				index[m] = n
			}
			n++
		}
	}
	return func(p *analysis.Pause) (int, bool) {
		i, ok := index[moment{int32(p.Source), p.At}]
		return i, ok && i >= 0 && !p.Start
	}
}

// appendJSON appends the member for the lines.
func (l *lines) appendJSON(b []byte, r *Run) []byte {
	var time, stream, lane column
	at, n, gap, end := uint64(0), 0, -1, int64(-1)
	for i, block := range l.blocks() {
		if i == 1 && l.omittedLines > 0 {
			gap = n
		}
		for _, x := range block.lines {
			time.add(difference(&at, relative(x.at, r.from)))
			stream.add(uint64(x.stream))
			lane.add(uint64(r.output[x.source]) + 1)
			end = -1
			if t := r.written[x.source]; t > 0 {
				end = int64(max(relative(t, r.from), at)) // at: it was read after the end
			}
			n++
		}
	}
	b = beginColumns(b, "lines", n, named{"time", &time}, named{"stream", &stream}, named{"lane", &lane})
	b = strconv.AppendInt(append(b, `,"gap":`...), int64(gap), 10)
	b = strconv.AppendInt(append(b, `,"end":`...), end, 10)
	b = append(b, `,"text":"`...)
	for _, block := range l.blocks() {
		b = append(b, block.text...)
	}
	if n > 0 {
		b = b[:len(b)-len(separator)]
	}
	return append(b, '"', '}')
}
