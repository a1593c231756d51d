// Package ctf writes a trace in the Common Trace Format, version 1.8: a directory that babeltrace2
// and Trace Compass read.
//
// trace.go writes the packets, event.go the events, metadata.go the description of both. The events
// of a log are one stream, in their order. A second stream, without events, has the lost events: the
// log knows how many there are and between which times, but not how they are distributed.
package ctf

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Variable is a variable of the trace's environment.
type Variable struct{ Name, Value string }

// Trace is a trace that is being written.
type Trace struct {
	Env        []Variable // UTF-8 without control characters
	Resolution int64      // of the clock, in nanoseconds
	Name       func(posixtrace.EventID) string

	dir     string
	uuid    [16]byte
	base    int64 // the clock counts nanoseconds from here
	based   bool
	classes []*class
	numbers []uint16 // of the classes, plus 1, by type and kind
	stream  *stream
	streams int
	first   int64
	last    int64
	lossAt  int64 // the first mark of a loss, math.MaxInt64 for none
	lossTo  int64 // the last
	losing  bool  // the last mark began a loss
}

const (
	magic = 0xc1fc1fc1
	// packetSize is the size at which a packet ends.
	packetSize = 1 << 20
	headerSize = 4 + 16 + 4 + 8
	headSize   = headerSize + 6*8
)

// Create starts a trace in an empty directory. identity distinguishes it from other traces: readers
// take traces of one identity for parts of one.
func Create(dir, identity string) *Trace {
	sum := sha256.Sum256([]byte("posixtrace ctf " + identity))
	t := &Trace{dir: dir, lossAt: math.MaxInt64, lossTo: math.MinInt64}
	copy(t.uuid[:], sum[:])
	t.uuid[6], t.uuid[8] = t.uuid[6]&0x0f|0x80, t.uuid[8]&0x3f|0x80 // version 8: a hash
	return t
}

// begin sets the origin of the clock.
func (t *Trace) begin(at int64) {
	if !t.based {
		t.based, t.base, t.first, t.last = true, at, at, at
	}
}

// Begin sets the origin of the clock: the creation of the stream, if no event is older.
func (t *Trace) Begin(created, first int64) { t.begin(min(created, first)); t.first = first }

var errTooEarly = errors.New("an event is older than the first one")

// Add adds events.
func (t *Trace) Add(recs []posixtrace.Record) error {
	for i := range recs {
		rec := &recs[i]
		if t.stream == nil || rec.UnixNano < t.stream.last {
			if err := t.nextStream(rec.UnixNano); err != nil {
				return err
			}
		}
		s := t.stream
		s.last = rec.UnixNano
		if len(s.buf) == headSize {
			s.first = rec.UnixNano
		}
		s.buf = t.appendEvent(s.buf, rec)
		if len(s.buf) >= packetSize {
			if err := s.flush(0); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextStream starts another stream of events. A log that was read forward has more than one
// if its events could not be put in order.
func (t *Trace) nextStream(at int64) error {
	t.begin(at)
	if at < t.base {
		return errTooEarly
	}
	if err := t.end(); err != nil {
		return err
	}
	var err error
	t.stream, err = t.newStream("events" + strconv.Itoa(t.streams))
	t.streams++
	return err
}

// end completes the stream of events.
func (t *Trace) end() error {
	if t.stream == nil {
		return nil
	}
	s := t.stream
	t.stream = nil
	t.last = max(t.last, s.last)
	var err error
	if len(s.buf) > headSize {
		err = s.flush(0)
	}
	return errors.Join(err, s.file.Close())
}

// Mark notes the time of a mark of lost events: the first of a loss, or the event that ended it.
func (t *Trace) Mark(at int64, ended bool) {
	t.lossAt, t.lossTo, t.losing = min(t.lossAt, at), max(t.lossTo, at), !ended
}

// Close completes the trace, with the number of lost events.
func (t *Trace) Close(lost uint64) error {
	if err := t.end(); err != nil {
		return err
	}
	if lost > 0 {
		if err := t.writeLosses(lost); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(t.dir, "metadata"), t.appendMetadata(nil), 0o666)
}

// writeLosses writes the stream of lost events: an empty packet up to the first mark, and one up to the
// last, whose count has grown. Without marks, the events may be lost anywhere.
func (t *Trace) writeLosses(lost uint64) error {
	t.begin(0)
	from, to := t.lossAt, t.lossTo
	if from > to {
		from, to = t.first, t.last
	} else if t.losing {
		to = max(to, t.last)
	}
	from = max(from, t.base)
	s, err := t.newStream("losses")
	if err != nil {
		return err
	}
	s.first, s.last = from, from
	err = s.flush(0)
	if err == nil {
		s.first, s.last = from, max(from, to)
		err = s.flush(lost)
	}
	return errors.Join(err, s.file.Close())
}

// stream is a stream of packets in a file.
type stream struct {
	trace    *Trace
	file     *os.File
	instance uint64
	buf      []byte // the packet, with room for its head
	packets  uint64
	first    int64 // times in the packet
	last     int64
}

func (t *Trace) newStream(name string) (*stream, error) {
	f, err := os.OpenFile(filepath.Join(t.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	s := &stream{trace: t, file: f, instance: uint64(t.streams), buf: make([]byte, headSize, packetSize+packetSize/8), last: math.MinInt64}
	return s, nil
}

// flush writes the packet. discarded is the number of events lost in the stream up to its end.
func (s *stream) flush(discarded uint64) error {
	le := binary.LittleEndian
	b := le.AppendUint32(s.buf[:0], magic)
	b = append(b, s.trace.uuid[:]...)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, s.instance)
	b = le.AppendUint64(b, uint64(s.first-s.trace.base))
	b = le.AppendUint64(b, uint64(s.last-s.trace.base))
	b = le.AppendUint64(b, uint64(len(s.buf))*8)
	b = le.AppendUint64(b, uint64(len(s.buf))*8)
	b = le.AppendUint64(b, s.packets)
	le.AppendUint64(b, discarded)
	s.packets++
	_, err := s.file.Write(s.buf)
	s.buf = s.buf[:headSize]
	return err
}
