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
//	buf  . p p p p p p p r r r r r r r r r r
//	     ^ ^             ^
//	     | a line that   room for the next read
//	     | is not complete, at most limit bytes
//	     room for the flags
type Splitter struct {
	sink  Sink
	limit int
	buf   []byte
	end   int // of the incomplete line
}

// NewSplitter returns a Splitter whose lines hold at most limit bytes; longer
// ones come in pieces.
func NewSplitter(sink Sink, limit int) *Splitter {
	limit = max(1, limit)
	return &Splitter{sink: sink, limit: limit, buf: make([]byte, 1+limit+batchSize), end: 1}
}

// Room is where the next bytes are to be read to, at least batchSize of them.
func (s *Splitter) Room() []byte { return s.buf[s.end:] }

// Split takes the first n bytes of Room as read.
func (s *Splitter) Split(n int) {
	if n <= 0 {
		return
	}
	s.sink.Batch()
	buf, start, scan, end := s.buf, 1, s.end, s.end+n
	for {
		i := bytes.IndexByte(buf[scan:end], '\n')
		if i < 0 {
			break
		}
		nl := scan + i
		if nl-start > s.limit {
			start = s.pieces(start, nl)
		}
		s.sink.Line(buf[start-1:nl], 0)
		start, scan = nl+1, nl+1
	}
	start = s.pieces(start, end)
	s.end = 1 + copy(buf[1:], buf[start:end])
}

// pieces gives away the beginning of a line as long as more than a piece is
// known of it, and returns where the rest begins.
func (s *Splitter) pieces(start, end int) int {
	for end-start > s.limit {
		s.sink.Line(s.buf[start-1:start+s.limit], Continues)
		start += s.limit
	}
	return start
}

// End gives away what is left without a newline.
func (s *Splitter) End() {
	if s.end > 1 {
		s.sink.Batch()
		s.sink.Line(s.buf[:s.end], NoNewline)
		s.end = 1
	}
}
