package capture

import "bytes"

const (
	defaultLimit = 4095
	maxLimit     = 1 << 20
	batchSize    = 256 << 10 // read at once: a quarter of the pipe, and within the cache
)

// Splitter cuts what is read into lines. How the bytes arrive makes no
// difference to the lines that come out.
//
// A batch is read to a buffer behind room for the beginning of its first line:
//
//	. . . . . . . p p p r r r r r r r r r r
//	            ^ ^     ^
//	            | |     head: here the batch was read to
//	            | kept of the batch before, at most limit bytes and two carriage returns
//	            room for the flags
type Splitter struct {
	// Terminal: the lines come from a terminal that puts a carriage return
	// before each newline. That is not part of the line.
	Terminal bool
	// Returns: a carriage return ends a line, too, such as a progress bar writes, but not
	// where a newline follows. Of a terminal that is so for two of them: a program that writes
	// carriage return and newline gets another one.
	Returns bool

	sink  Sink
	limit int
	head  int
	part  []byte // an incomplete line, behind a byte for the flags
}

// NewSplitter returns a Splitter whose lines hold at most limit bytes; longer
// ones come in pieces.
func NewSplitter(sink Sink, limit int) *Splitter {
	limit = max(1, limit)
	return &Splitter{sink: sink, limit: limit, head: 3 + limit, part: make([]byte, 1, 3+limit)}
}

// buffer makes a buffer for a batch.
func (s *Splitter) buffer() []byte { return make([]byte, s.head+batchSize) }

// room is where in a buffer the batch goes.
func (s *Splitter) room(buf []byte) []byte { return buf[s.head:] }

// split takes the first n bytes of a buffer's room as read. The buffer is free
// when it returns.
func (s *Splitter) split(buf []byte, n int) {
	if n <= 0 {
		return
	}
	scan, end := s.head, s.head+n
	if s.Returns {
		s.settle(buf[scan:end])
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
			start = s.returns(buf, start, nl-s.open(buf[start:nl]))
			cr = s.nextReturn(buf, nl+1, end)
		}
		last := s.trim(buf, start, nl)
		if last-start > s.limit {
			start = s.pieces(buf, start, last)
		}
		s.sink.Line(buf[start-1:last], 0)
		start, scan = nl+1, nl+1
	}
	known := s.trim(buf, start, end)
	if cr < end {
		known = end - s.open(buf[start:end])
		start = s.returns(buf, start, known)
	}
	start = s.pieces(buf, start, known)
	s.part = append(s.part[:1], buf[start:end]...)
}

// nextReturn finds a carriage return that may end a line, or returns end.
func (s *Splitter) nextReturn(buf []byte, start, end int) int {
	if !s.Returns {
		return end
	}
	if i := bytes.IndexByte(buf[start:end], '\r'); i >= 0 {
		return start + i
	}
	return end
}

// most is how many carriage returns before a newline belong to that.
func (s *Splitter) most() int {
	if s.Terminal {
		return 2
	}
	return 1
}

// open returns how many carriage returns at the end of b belong to a newline if one follows.
func (s *Splitter) open(b []byte) (n int) {
	for n < len(b) && n < s.most() && b[len(b)-1-n] == '\r' {
		n++
	}
	return n
}

// returns gives away the lines that the carriage returns in a part of buf end, and tells where
// the rest begins.
func (s *Splitter) returns(buf []byte, start, end int) int {
	for {
		i := bytes.IndexByte(buf[start:end], '\r')
		if i < 0 {
			return start
		}
		first := s.pieces(buf, start, start+i)
		s.sink.Line(buf[first-1:start+i], Return)
		start += i + 1
	}
}

// settle gives away, with the time of the batch that they came with, the lines before whose carriage
// returns are at the end of that: what comes next shows that no newline follows.
func (s *Splitter) settle(next []byte) {
	open := s.open(s.part[1:])
	if open == 0 {
		return
	}
	more := 0
	for more < len(next) && more < s.most() && next[more] == '\r' {
		more++
	}
	still := min(open+more, s.most())
	if more < len(next) && next[more] != '\n' && next[more] != '\r' {
		still = 0
	}
	settled := min(open, open+more-still)
	start := s.returns(s.part, 1, len(s.part)-open+settled)
	s.part = append(s.part[:1], s.part[start:]...)
}

// trim returns where the text of a line ends: a carriage return at its end may be
// the terminal's.
func (s *Splitter) trim(buf []byte, start, end int) int {
	if s.Terminal && end > start && buf[end-1] == '\r' {
		return end - 1
	}
	return end
}

// pieces gives away the beginning of a line as long as more than a piece is
// known of it, and returns where the rest begins.
func (s *Splitter) pieces(buf []byte, start, end int) int {
	for end-start > s.limit {
		s.sink.Line(buf[start-1:start+s.limit], Continues)
		start += s.limit
	}
	return start
}

// end gives away what is left without a newline.
func (s *Splitter) end() {
	start := 1
	if s.Returns {
		start = s.returns(s.part, start, len(s.part))
	}
	if len(s.part) > start {
		s.sink.Batch()
		// A carriage return may have made it longer than a line can be.
		start = s.pieces(s.part, start, len(s.part))
		s.sink.Line(s.part[start-1:], NoNewline)
	}
	s.part = s.part[:1]
}
