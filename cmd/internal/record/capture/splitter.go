package capture

import (
	"bytes"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

const (
	defaultLimit = 4095
	maxLimit     = 1 << 20
	batchSize    = 256 << 10 // of one read: a quarter of the pipe, and fits the cache
)

// Splitter cuts the bytes of a stream into lines. The lines do not depend on how the
// bytes are divided into batches.
//
// A batch is read into a buffer behind room for the beginning of its first line:
//
//	. . . . . . . p p p r r r r r r r r r r
//	            ^ ^     ^
//	            | |     head: the batch starts here
//	            | rest of the batch before, at most limit bytes, three of a character behind
//	            |       them, and two carriage returns
//	            room for the flags
type Splitter struct {
	// Terminal: the input is a terminal, which puts a carriage return before each
	// newline. That carriage return is not part of the line.
	Terminal bool
	// Returns: a carriage return ends a line too, as in a progress bar, unless a newline
	// follows. From a terminal, two carriage returns before a newline end no line: the
	// terminal adds one to what the program wrote, which may be a carriage return and a newline.
	Returns bool

	sink  Sink
	limit int
	head  int
	part  []byte // an incomplete line, behind a byte for the flags
}

// NewSplitter returns a Splitter that cuts lines of more than limit bytes into pieces, where escape.Cut
// says.
func NewSplitter(sink Sink, limit int) *Splitter {
	limit = max(1, limit)
	return &Splitter{sink: sink, limit: limit, head: limit + behind, part: make([]byte, 1, limit+behind)}
}

// behind is how many bytes beyond the limit the incomplete line has at most: the byte for the flags,
// those that Cut has to see, and carriage returns.
const behind = 1 + escape.Cutting - 1 + 2

// buffer makes a buffer for a batch.
func (s *Splitter) buffer() []byte { return make([]byte, s.head+batchSize) }

// room returns the part of a buffer that the batch is read into.
func (s *Splitter) room(buf []byte) []byte { return buf[s.head:] }

// split cuts the first n bytes of a buffer's room into lines, and leaves these bytes as they
// are. The caller may reuse the buffer afterwards.
func (s *Splitter) split(buf []byte, n int) {
	if n <= 0 {
		return
	}
	scan, end := s.head, s.head+n
	if s.Returns {
		s.flushUndecided(buf[scan:end])
	}
	s.sink.Batch()
	start := s.head - copy(buf[s.head-(len(s.part)-1):], s.part[1:])
	cr := s.nextReturn(buf, start, end)
	for {
		i := bytes.IndexByte(buf[scan:end], '\n')
		if i < 0 {
			break
		}
		nl := scan + i
		if cr < nl {
			start = s.emitReturns(buf, start, nl-s.undecided(buf[start:nl]))
			cr = s.nextReturn(buf, nl+1, end)
		}
		last := s.trim(buf, start, nl)
		if last-start > s.limit {
			start = s.emitPieces(buf, start, last, true)
		}
		s.sink.Line(buf[start-1:last], 0)
		start, scan = nl+1, nl+1
	}
	known := s.trim(buf, start, end)
	if cr < end {
		known = end - s.undecided(buf[start:end])
		start = s.emitReturns(buf, start, known)
	}
	start = s.emitPieces(buf, start, known, false)
	s.part = append(s.part[:1], buf[start:end]...)
	s.sink.Partial(len(s.part) > 1)
}

// nextReturn returns the index of a carriage return that may end a line, or end.
func (s *Splitter) nextReturn(buf []byte, start, end int) int {
	if !s.Returns {
		return end
	}
	if i := bytes.IndexByte(buf[start:end], '\r'); i >= 0 {
		return start + i
	}
	return end
}

// newlineReturns returns how many carriage returns before a newline belong to the newline.
func (s *Splitter) newlineReturns() int {
	if s.Terminal {
		return 2
	}
	return 1
}

// undecided returns how many carriage returns at the end of b belong to a newline if one
// follows.
func (s *Splitter) undecided(b []byte) (n int) {
	for n < len(b) && n < s.newlineReturns() && b[len(b)-1-n] == '\r' {
		n++
	}
	return n
}

// emitReturns emits the lines in buf[start:end] that a carriage return ends, and returns
// the start of the rest.
func (s *Splitter) emitReturns(buf []byte, start, end int) int {
	for {
		i := bytes.IndexByte(buf[start:end], '\r')
		if i < 0 {
			return start
		}
		first := s.emitPieces(buf, start, start+i, true)
		s.sink.Line(buf[first-1:start+i], Return)
		start += i + 1
	}
}

// flushUndecided emits the lines of the batch before that ended with undecided carriage returns,
// if next, the batch now read, shows that no newline follows them. It comes before
// Sink.Batch, so these lines get the time of their own batch.
func (s *Splitter) flushUndecided(next []byte) {
	open := s.undecided(s.part[1:])
	if open == 0 {
		return
	}
	more := 0
	for more < len(next) && more < s.newlineReturns() && next[more] == '\r' {
		more++
	}
	still := min(open+more, s.newlineReturns())
	if more < len(next) && next[more] != '\n' && next[more] != '\r' {
		still = 0
	}
	decided := min(open, open+more-still)
	start := s.emitReturns(s.part, 1, len(s.part)-open+decided)
	s.part = append(s.part[:1], s.part[start:]...)
}

// trim returns the end of the text of a line, without the terminal's carriage return.
func (s *Splitter) trim(buf []byte, start, end int) int {
	if s.Terminal && end > start && buf[end-1] == '\r' {
		return end - 1
	}
	return end
}

// emitPieces emits the beginning of a line in pieces while more than limit bytes of the
// line are known, and returns the start of the rest. whole says that the line ends at end. Otherwise
// it waits for the character behind the limit.
func (s *Splitter) emitPieces(buf []byte, start, end int, whole bool) int {
	least := s.limit + 1
	if !whole {
		least = s.limit + escape.Cutting
	}
	for end-start >= least {
		n := escape.Cut(buf[start:end], s.limit)
		s.sink.Line(buf[start-1:start+n], Continues)
		start += n
	}
	return start
}

// finish emits the last line, if it has no newline.
func (s *Splitter) finish() {
	start := 1
	if s.Returns {
		start = s.emitReturns(s.part, start, len(s.part))
	}
	if len(s.part) > start {
		s.sink.Batch()
		// With its undecided carriage returns it may exceed the limit.
		start = s.emitPieces(s.part, start, len(s.part), true)
		s.sink.Line(s.part[start-1:], NoNewline)
	}
	s.part = s.part[:1]
}
