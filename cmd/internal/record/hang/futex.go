//go:build linux

package hang

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// Operations of futex(2), and the bits of the word of a robust futex or one with priority inheritance.
const (
	futexWait         = 0
	futexLockPI       = 6
	futexWaitBitset   = 9
	futexLockPI2      = 13
	futexPrivate      = 128
	futexOperation    = 127
	futexWaiters      = 1 << 31
	futexOwner        = 1<<30 - 1
	glibcContended    = 2  // the word of a mutex that has waiters
	glibcWriterLocked = 3  // the word of a rwlock's readers while a writer has it
	mutexOwner        = 8  // __owner behind the word of a mutex
	rwlockWriter      = 16 // __cur_writer behind the word that readers wait on
)

// futex finds the thread that owns the futex that the thread waits for. The kernel records no owner but of
// futexes with priority inheritance; the C library records that of a mutex beside the word, by the id that
// the thread has in its own namespace. Of condition variables, semaphores, and the locks of other languages
// the owner is recorded nowhere.
func (t *thread) futex() (e end) {
	at, op, value := t.args[0], t.args[1]&futexOperation, uint32(t.args[2])
	private := t.args[1]&futexPrivate != 0
	if (op == futexWait || op == futexWaitBitset || op == futexLockPI) && t.args[3] != 0 {
		return end{text: "a futex, for a limited time", unseen: true, known: true}
	}
	m := t.memory(at, rwlockWriter+4)
	if len(m) < rwlockWriter+4 {
		return end{unseen: true}
	}
	le := binary.NativeEndian
	word, owner, text := le.Uint32(m), 0, "a mutex of"
	switch {
	case op == futexLockPI, op == futexLockPI2, value&futexWaiters != 0:
		owner = int(word & futexOwner)
	case value == glibcContended && word == glibcContended:
		owner = int(le.Uint32(m[mutexOwner:]))
	case value == glibcWriterLocked && word == glibcWriterLocked:
		owner, text = int(le.Uint32(m[rwlockWriter:])), "a lock to read, perhaps of"
	case op == futexWaitBitset && !private && word == value: // glibc: a thread that is joined, perhaps
		if o := t.owner(int(value), true); o != nil && o != t {
			return end{text: "the end of", on: []*thread{o}}
		}
	}
	if o := t.owner(owner, private); o != nil && o != t {
		return end{text: text, on: []*thread{o}}
	}
	if !private {
		return end{text: "a futex in shared memory, whose owner is recorded nowhere", unseen: true, known: true}
	}
	e.text, e.known = "a futex whose owner is recorded nowhere: ", true
	switch others := len(t.p.threads) - 1; others {
	case 0:
		e.text += "the process has no other thread"
	case 1:
		e.text += "the other thread of the process"
	default:
		e.text += "one of the " + strconv.Itoa(others) + " other threads of the process"
	}
	e.on = slices.DeleteFunc(slices.Clone(t.p.threads), func(o *thread) bool { return o == t })
	t.apart = true
	return e
}

// owner returns the thread that has a number in the memory of this one, nil if none is known. Only a living
// thread of the process, or of a shared futex a thread of any process of its namespace, is believed.
func (t *thread) owner(id int, private bool) *thread {
	if id <= 0 {
		return nil
	}
	for _, o := range t.p.threads {
		if o.TID == id && t.p.innerPID() == t.PID || t.p.innerPID() != t.PID && innerID(o.TID) == id {
			return o
		}
	}
	if private {
		return nil
	}
	for _, o := range t.w.order {
		if o.PID != t.PID && (o.TID == id || innerID(o.TID) == id) && innerID(o.TID) == id && sameNamespace(o.PID, t.PID) {
			return o
		}
	}
	return nil
}
