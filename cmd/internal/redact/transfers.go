package redact

import (
	"bytes"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Transfers replaces the matches in system calls. It knows which of them pass the bytes of a
// descriptor on, and what the call before has left open there: a secret that a program reads or writes
// in several calls is hidden but for its first bytes. A nil Transfers replaces nothing. It is not safe
// for concurrent use.
type Transfers struct {
	set   *Set
	lines map[transfer]*Line
	full  bool // there was no room for a line: one that is unknown may have an open match
}

// transfer is a direction of a descriptor of a process.
type transfer struct {
	pid, fd int
	out     bool
}

// maxTransfers bounds the descriptors with an open match.
const maxTransfers = 1024

// NewTransfers returns Transfers for the patterns of s, nil for no set.
func (s *Set) NewTransfers() *Transfers {
	if s == nil {
		return nil
	}
	return &Transfers{set: s, lines: map[transfer]*Line{}}
}

// directions are the system calls of which the first argument is a descriptor and the second what
// they pass on. true: from the process.
var directions = map[string]bool{
	"syscall.read": false, "syscall.readv": false, "syscall.pread64": false, "syscall.preadv": false, "syscall.preadv2": false,
	"syscall.recvfrom": false, "syscall.recvmsg": false, "syscall.recvmmsg": false,
	"syscall.write": true, "syscall.writev": true, "syscall.pwrite64": true, "syscall.pwritev": true, "syscall.pwritev2": true,
	"syscall.sendto": true, "syscall.sendmsg": true, "syscall.sendmmsg": true,
}

// Whole is the number of a part for Tail: all that a call has passed on.
const Whole = -1

// Tail returns the last bytes of a part of what a call has passed on, of an element of struct iovec, or
// nil if it does not know them.
type Tail func(part int) []byte

// Call replaces the matches in a system call of a process and returns their number. tail, which may be
// nil, knows the bytes of which a call shows only the beginning.
func (t *Transfers) Call(name string, pid int, d *posixtrace.SyscallData, tail Tail) (n int) {
	if t == nil {
		return 0
	}
	if out, ok := directions[name]; ok && len(d.Args) > 1 {
		if fd, ok := descriptor(d.Args[0].Value); ok {
			n = t.move(transfer{pid, fd, out}, d, tail)
		}
	}
	return n + t.set.Call(d)
}

// Exit forgets a process that has ended.
func (t *Transfers) Exit(pid int) {
	if t == nil || len(t.lines) == 0 {
		return
	}
	for key := range t.lines {
		if key.pid == pid {
			delete(t.lines, key)
		}
	}
}

// descriptor parses an argument such as 3</etc/passwd>.
func descriptor(b []byte) (fd int, ok bool) {
	b, _, _ = bytes.Cut(b, []byte{'<'})
	fd, err := strconv.Atoi(string(b))
	return fd, err == nil
}

// move replaces in what a call passes on.
func (t *Transfers) move(key transfer, d *posixtrace.SyscallData, tail Tail) (n int) {
	a := &d.Args[1]
	var list []quoted
	complete := true // the list has all blocks
	if a.String {
		list = []quoted{{to: len(a.Value), text: a.Value, cut: a.Cut, block: true}}
	} else {
		list = quotedIn(a.Value)
		complete = !a.Cut && !bytes.HasSuffix(a.Value, []byte(", ...]"))
	}
	before, known := t.lines[key]
	if !known {
		if t.full && len(a.Value) > 0 && len(list) > 0 {
			a.Value = []byte(Mark)
			return 1
		}
		before = t.set.NewLine()
	}
	after := before.clone()
	texts, n, shown, cut := after.blocks(list, tail)
	if a.String {
		if texts[0] != nil {
			a.Value = texts[0]
		}
	} else {
		a.Value = requote(a.Value, list, texts)
	}

	// What the next call continues depends on how much this one has passed on.
	switch moved := int(d.Result); {
	case !d.Returned || d.Errno != 0 || d.Restarted != 0 || moved <= 0:
		after = before
	case complete && !cut && moved >= len(shown):
	case moved <= len(shown):
		after = before
		after.Piece(shown[:moved], MayContinue)
	default:
		after = t.set.NewLine()
		if tail != nil {
			after.Piece(tail(Whole), MayContinue)
		}
	}
	switch {
	case after.Idle():
		delete(t.lines, key)
	case known || len(t.lines) < maxTransfers:
		t.lines[key] = after
	default:
		t.full = true
	}
	return n
}

// blocks replaces in blocks of one sequence of bytes. It returns the texts that change, the number of
// matches, the text before the first cut, and whether there is a cut.
func (l *Line) blocks(list []quoted, tail Tail) (texts [][]byte, n int, shown []byte, cut bool) {
	texts = make([][]byte, len(list))
	for i, part := 0, 0; i < len(list); {
		var text []byte
		more := MayContinue
		first := i
		for ; i < len(list) && more == MayContinue; i++ {
			if !list[i].block {
				continue
			}
			text = append(text, list[i].text...)
			if part++; list[i].cut {
				more = Continues
			}
		}
		if !cut {
			shown = text
		}
		spans, k := l.spans(text, more)
		if escaped := l.set.escaped(nil, text, more); len(escaped) > 0 {
			spans = merge(append(spans, escaped...))
			k = max(k, len(escaped))
		}
		n += k
		at := 0
		for j := first; j < i; j++ {
			if q := &list[j]; q.block {
				if mine := clip(spans, at, at+len(q.text)); len(mine) > 0 {
					texts[j], _ = replace(q.text, mine)
				}
				at += len(q.text)
			}
		}
		if more == Continues {
			cut, l.open = true, nil
			if tail != nil {
				l.Piece(tail(part-1), MayContinue)
			}
		}
	}
	return texts, n, shown, cut
}

// clip returns the parts of spans that are in a part of the text.
func clip(spans []span, from, to int) (list []span) {
	for _, s := range spans {
		if s.from < to && s.to > from {
			list = append(list, span{max(s.from, from) - from, min(s.to, to) - from})
		}
	}
	return list
}
