package posixtrace

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"
)

// TimeoutData is the data of EventProcTimeout: the time limit of a command has passed. The event precedes
// the signal that ends the command for it. Extension.
type TimeoutData struct {
	Limit  time.Duration
	Signal int // the signal that follows
}

const timeoutDataSize = 8 + 4

// Append appends the encoded form.
func (d *TimeoutData) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(d.Limit))
	return binary.LittleEndian.AppendUint32(b, uint32(d.Signal))
}

// DecodeTimeout decodes the data of EventProcTimeout. Errors: EINVAL malformed data.
func DecodeTimeout(data []byte) (d TimeoutData, err error) {
	if len(data) < timeoutDataSize {
		return d, einval("DecodeTimeout", "proc.timeout data of %d bytes", len(data))
	}
	d.Limit = time.Duration(min(binary.LittleEndian.Uint64(data), math.MaxInt64))
	d.Signal = int(int32(binary.LittleEndian.Uint32(data[8:])))
	return d, nil
}

// HangCause is why a command was looked at.
type HangCause uint8

// The causes of EventHangThread.
const (
	HangTimeout HangCause = iota // its time limit has passed
	HangIdle                     // it did nothing for some time
	HangSignal                   // a signal asked it to end
	HangAsked                    // by another program
)

var hangCauses = [...]string{"timeout", "idle", "signal", "asked"}

// String returns "timeout", "idle", "signal", "asked" or "unknown".
func (c HangCause) String() string { return wordOf(hangCauses[:], uint8(c)) }

// HangKind is what a thread does.
type HangKind uint8

// The kinds of EventHangThread.
const (
	HangWaits   HangKind = iota // in a system call, until something else happens
	HangSleeps                  // until some time has passed
	HangBusy                    // uses a processor
	HangRuns                    // neither of these is known
	HangStopped                 // by a signal or a debugger
	HangZombie                  // has ended, and no process has waited for it
)

var hangKinds = [...]string{"waits", "sleeps", "busy", "runs", "stopped", "zombie"}

// String returns "waits", "sleeps", "busy", "runs", "stopped", "zombie" or "unknown".
func (k HangKind) String() string { return wordOf(hangKinds[:], uint8(k)) }

func wordOf(words []string, n uint8) string {
	if int(n) < len(words) {
		return words[n]
	}
	return "unknown"
}

// HangData is the data of EventHangThread: what a thread of a command did when the command was looked at.
// The event is that of the thread. Extension.
type HangData struct {
	Program string   // the name of the thread
	Args    []string // the command line of its process
	State   byte     // as ps(1) shows it: R, S, D, T, t, Z
	Kind    HangKind
	Call    string        // the system call with its arguments; "" if unknown
	Wait    string        // where in the kernel it waits; "" if unknown
	Since   time.Duration // for how long; negative if unknown
	Exact   bool          // Since is measured, else it is about that
	For     string        // what it waits for, in words; "" if unknown
	ForPID  int           // the process or thread that can end the wait, or 0
	ForTID  int
	Stuck   bool     // nothing that is visible can end the wait
	Cycle   bool     // it waits, over others, for itself
	Stack   []string // the calls in the program, the innermost first
	Note    string   // what could not be seen
	Cause   HangCause
	Signal  int // the signal that follows or came, or 0
	Report  int // the number of the report in the run, from 1; a report has an event for each thread
}

// The encoded form: numbers; then, each with two bytes of its length before it, four texts and two lists,
// in which a NUL ends each text. A stream that truncates data keeps its start.
const (
	hangDataSize = 8 + 4*4 + 4

	hangExact = 1 << 0
	hangStuck = 1 << 1
	hangCycle = 1 << 2

	maxHangText = 1<<15 - 1
)

// Append appends the encoded form.
func (d *HangData) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(max(d.Since, -1)))
	for _, v := range [...]int{d.ForPID, d.ForTID, d.Signal, d.Report} {
		b = le.AppendUint32(b, uint32(v))
	}
	flags := byte(0)
	for i, set := range [...]bool{d.Exact, d.Stuck, d.Cycle} {
		if set {
			flags |= 1 << i
		}
	}
	b = append(b, byte(d.Cause), byte(d.Kind), d.State, flags)
	for _, s := range [...]string{d.Program, d.Call, d.Wait, d.For, d.Note} {
		s = s[:min(len(s), maxHangText)]
		b = append(le.AppendUint16(b, uint16(len(s))), s...)
	}
	return appendHangList(appendHangList(b, d.Args), d.Stack)
}

func appendHangList(b []byte, list []string) []byte {
	at := len(b)
	b = append(b, 0, 0)
	for _, s := range list {
		if len(b)-at-2+len(s)+1 > maxHangText {
			break
		}
		b = append(append(b, s...), 0)
	}
	binary.LittleEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	return b
}

// DecodeHang decodes the data of EventHangThread. If the record was truncated, the last text may be
// incomplete, and what follows it is lacking. Errors: EINVAL malformed data.
func DecodeHang(data []byte) (d HangData, err error) {
	if len(data) < hangDataSize {
		return d, einval("DecodeHang", "hang.thread data of %d bytes", len(data))
	}
	le := binary.LittleEndian
	d.Since = time.Duration(max(int64(le.Uint64(data)), -1))
	n := func(i int) int { return int(int32(le.Uint32(data[8+4*i:]))) }
	d.ForPID, d.ForTID, d.Signal, d.Report = n(0), n(1), n(2), n(3)
	d.Cause, d.Kind, d.State = HangCause(data[24]), HangKind(data[25]), data[26]
	d.Exact, d.Stuck, d.Cycle = data[27]&hangExact != 0, data[27]&hangStuck != 0, data[27]&hangCycle != 0
	data = data[hangDataSize:]
	for _, to := range [...]*string{&d.Program, &d.Call, &d.Wait, &d.For, &d.Note} {
		var text []byte
		text, data = cutHangText(data)
		*to = string(text)
	}
	for _, to := range [...]*[]string{&d.Args, &d.Stack} {
		var list []byte
		list, data = cutHangText(data)
		list = list[:min(len(list), maxHangText-1)] // the last NUL may be lacking
		for len(list) > 0 {
			var text []byte
			text, list, _ = bytes.Cut(list, []byte{0})
			*to = append(*to, string(text))
		}
	}
	return d, nil
}

// cutHangText returns the text or the list at the start of data, and what follows it.
func cutHangText(data []byte) (text, rest []byte) {
	if len(data) < 2 {
		return nil, nil
	}
	n := int(binary.LittleEndian.Uint16(data)) & maxHangText
	n = min(n, len(data)-2)
	return data[2 : 2+n], data[2+n:]
}
