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
//	            | kept of the batch before, at most limit bytes and a carriage return
//	            room for the flags
type Splitter struct {
	// Terminal: the lines come from a terminal that puts a carriage return
	// before each newline. That is not part of the line.
	Terminal bool

	sink  Sink
	limit int
	head  int
	part  []byte // an incomplete line, behind a byte for the flags
}

// NewSplitter returns a Splitter whose lines hold at most limit bytes; longer
// ones come in pieces.
func NewSplitter(sink Sink, limit int) *Splitter {
	limit = max(1, limit)
	return &Splitter{sink: sink, limit: limit, head: 2 + limit, part: make([]byte, 1, 2+limit)}
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
	s.sink.Batch()
	start := s.head - copy(buf[s.head-(len(s.part)-1):], s.part[1:])
	scan, end := s.head, s.head+n
	for {
		i := bytes.IndexByte(buf[scan:end], '\n')
		if i < 0 {
			break
		}
		nl := scan + i
		last := s.trim(buf, start, nl)
		if last-start > s.limit {
			start = s.pieces(buf, start, last)
		}
		s.sink.Line(buf[start-1:last], 0)
		start, scan = nl+1, nl+1
	}
	start = s.pieces(buf, start, s.trim(buf, start, end))
	s.part = append(s.part[:1], buf[start:end]...)
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
	if len(s.part) > 1 {
		s.sink.Batch()
		// A carriage return may have made it longer than a line can be.
		start := s.pieces(s.part, 1, len(s.part))
		s.sink.Line(s.part[start-1:], NoNewline)
		s.part = s.part[:1]
	}
}
