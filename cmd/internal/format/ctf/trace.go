// Package ctf writes a trace in the Common Trace Format, version 1.8: a directory that babeltrace2
// and Trace Compass read.
//
// trace.go writes the packets, event.go the events, metadata.go the description of both. The events
// of a log are one stream, in their order. A second stream, without events, has the lost events: the
// log knows how many there are and between which times, but not how they are distributed.
package ctf

import (
	"crypto/sha256"
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
	Epoch      bool // the clock counts from 1970, so that no later time is out of its range

	dir     string
	uuid    [16]byte
	base    int64 // the clock counts nanoseconds from here
	based   bool
	classes []*class
	numbers []uint16                   // of the classes, plus 1, by type and kind
	empties map[emptyClass]uint16      // the same, for events with an empty string that is not the first
	recent  [recentClasses]recentClass // of empties, by type
	empty   uint64                     // the empty strings of the event that is being written
	strings int                        // their number so far
	call    posixtrace.SyscallData     // reused
	stream  *stream                    // of events, the one with the latest event
	others  []*stream                  // of events that are older than one before them
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
	packetSize = 256 << 10
	headerSize = 4 + 16 + 4 + 8
	headSize   = headerSize + 6*8
	// maxStreams bounds memory and files if the times of a damaged log go back again and again.
	maxStreams = 64
)

// Create starts a trace in an empty directory. identity distinguishes it from other traces: readers
// take traces of one identity for parts of one.
func Create(dir, identity string) *Trace {
	sum := sha256.Sum256([]byte("posixtrace ctf " + identity))
	t := &Trace{dir: dir, empties: map[emptyClass]uint16{}, lossAt: math.MaxInt64, lossTo: math.MinInt64}
	copy(t.uuid[:], sum[:])
	t.uuid[6], t.uuid[8] = t.uuid[6]&0x0f|0x80, t.uuid[8]&0x3f|0x80 // version 8: a hash
	return t
}

// begin sets the origin of the clock.
func (t *Trace) begin(at int64) {
	if t.based {
		return
	}
	t.based, t.base, t.first, t.last = true, at, at, at
	if t.Epoch {
		if t.base = 0; at < 0 {
			t.base = math.MinInt64
		}
	}
}

// Begin sets the origin of the clock: the creation of the stream, if no event is older.
func (t *Trace) Begin(created, first int64) {
	t.begin(min(created, first))
	t.first = first
}

// ErrRange is the error of an event before the origin of the clock, or too long after it. Only damaged
// logs have such events.
var ErrRange = errors.New("an event is outside of the range of the clock")

// ErrOrder is the error of events whose times go back again and again.
var ErrOrder = errors.New("the times of events go back too often")

// Add adds events. After an error, Close completes the trace with the events before.
func (t *Trace) Add(recs []posixtrace.Record) error {
	for i := range recs {
		rec := &recs[i]
		s := t.stream
		if s == nil || rec.UnixNano < s.last {
			var err error
			if s, err = t.streamFor(rec.UnixNano); err != nil {
				return err
			}
		}
		// Readers of the format count in 63 bits.
		if rec.UnixNano-t.base < 0 {
			return ErrRange
		}
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

// streamFor returns the stream of events for one that is older than the latest: that whose last event
// is the latest before it. So there are no more streams than the order needs.
func (t *Trace) streamFor(at int64) (*stream, error) {
	t.begin(at)
	if at < t.base {
		return nil, ErrRange
	}
	var best *stream
	for _, s := range t.others {
		if s.last <= at && (best == nil || s.last > best.last) {
			best = s
		}
	}
	if best != nil {
		return best, nil
	}
	if t.streams == maxStreams {
		return nil, ErrOrder
	}
	s, err := t.newStream("events" + strconv.Itoa(t.streams))
	if err != nil {
		return nil, err
	}
	t.streams++
	if t.stream == nil {
		t.stream = s
	} else {
		t.others = append(t.others, s)
	}
	return s, nil
}

// end completes the streams of events.
func (t *Trace) end() (err error) {
	for _, s := range append(t.others, t.stream) {
		if s == nil {
			continue
		}
		t.last = max(t.last, s.last)
		if len(s.buf) > headSize {
			err = errors.Join(err, s.flush(0))
		}
		err = errors.Join(err, s.file.Close())
	}
	t.stream, t.others = nil, nil
	return err
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
	if from = max(from, t.base); to-t.base < 0 {
		to = from
	}
	s, err := t.newStream("losses")
	if err != nil {
		return err
	}
	s.first, s.last = from, from
	err = s.flush(0)
	if err == nil {
		s.first, s.last = from, max(from, to)
		err = s.flush(min(lost, math.MaxUint64-1)) // babeltrace2 takes the largest for none
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
