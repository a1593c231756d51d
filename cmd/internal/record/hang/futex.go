//go:build linux

package hang

import (
	"encoding/binary"
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
	glibcContended    = 2 // the word of a mutex that has waiters
	glibcWriterLocked = 3 // the word of a rwlock's readers while a writer has it
)

// The words of a mutex and a rwlock of glibc.
const (
	mutexCount = 1 // __count
	mutexOwner = 2 // __owner
	mutexUsers = 3 // __nusers
	mutexKind  = 4 // __kind
	futexWords = 5

	kindRecursive = 1
	kindRobust    = 16
	kindsOfOwner  = 3 | 128 | 256 | 512 // the type, shared between processes, elision

	rwlockWriter  = 4 // __cur_writer, behind the word that readers wait on
	rwlockReaders = 8 // bytes from __readers to it
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
	m := words(t.memory(at, futexWords*4))
	if len(m) == 0 {
		return end{unseen: true}
	}
	word, owner, text := m[0], 0, "a mutex of"
	switch {
	case op == futexLockPI, op == futexLockPI2: // by the rules of the kernel
		owner = int(word & futexOwner)
	case value&futexWaiters != 0:
		if id := word & futexOwner; robust(m) || muslMutex(words(t.memory(at-4, 4))) {
			owner = int(id)
		}
	case value == glibcContended && word == glibcContended && glibcMutex(m):
		owner = int(m[mutexOwner])
	case value == glibcWriterLocked && word == glibcWriterLocked:
		if len(m) > rwlockWriter && glibcRwlock(words(t.memory(at-rwlockReaders, 4))) {
			owner, text = int(m[rwlockWriter]), "a lock to read, perhaps of"
		}
	case op == futexWaitBitset && !private && word == value: // glibc: a thread that is joined, perhaps
		if o := t.owner(int(value), true); o != nil && o != t {
			return end{text: "the end of", on: []*thread{o}}
		}
	}
	if o := t.owner(owner, private); o != nil {
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
	e.on = t.p.threads // this one, too: it makes no difference, and all waits share the list
	t.apart, t.unowned = true, true
	return e
}

// words returns the words of memory.
func words(b []byte) (w []uint32) {
	for ; len(b) >= 4; b = b[4:] {
		w = append(w, binary.NativeEndian.Uint32(b))
	}
	return w
}

// A word of a mutex has no mark that tells it from the words of other languages, which may have any numbers
// beside it. So an owner is believed only if the other words are those of a mutex, too.

// glibcMutex reports whether words are those of a mutex that glibc calls normal, recursive, checked or
// adaptive.
func glibcMutex(m []uint32) bool {
	if len(m) < futexWords {
		return false
	}
	kind := m[mutexKind]
	return kind&^kindsOfOwner == 0 && m[mutexUsers] >= 1 && m[mutexUsers] < 1<<20 &&
		(kind&3 == kindRecursive) == (m[mutexCount] != 0)
}

// robust reports whether words are those of a robust mutex of glibc.
func robust(m []uint32) bool {
	return len(m) >= futexWords && m[mutexKind]&kindRobust != 0 && m[mutexKind] < 1<<10 && m[mutexOwner] == m[0]&futexOwner
}

// muslMutex reports whether the word before the futex is the type of a mutex of musl that has an owner.
func muslMutex(m []uint32) bool { return len(m) == 1 && m[0]&15 != 0 && m[0] < 1<<8 }

// glibcRwlock reports whether the word of a rwlock's readers says that a writer has it and readers wait.
func glibcRwlock(m []uint32) bool { return len(m) == 1 && m[0]&3 == 3 && m[0]>>3 > 0 }

// owner returns the thread that has a number in the memory of this one, nil if none is known. Only a living
// thread of the process, or of a shared futex a thread of any process of its namespace, is believed.
func (t *thread) owner(id int, private bool) *thread {
	if id <= 0 {
		return nil
	}
	for _, o := range t.p.threads {
		if o.innerTID() == id {
			return o
		}
	}
	if private {
		return nil
	}
	for _, o := range t.w.order {
		if o.PID != t.PID && o.innerTID() == id && sameNamespace(o.PID, t.PID) {
			return o
		}
	}
	return nil
}

// innerTID is the number of a thread in its own namespace.
func (t *thread) innerTID() int {
	if t.inner == nil {
		n := innerID(t.TID)
		t.inner = &n
	}
	return *t.inner
}
