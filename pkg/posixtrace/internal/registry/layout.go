package registry

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// The page of a process:
//
//	   0  magic      u64   "PTPAGE01"
//	   8  size       u32   of the page
//	  12  entry      u32   size of an entry
//	  16  pid        u32   \  the process
//	  20  session    u32    | its session when the page was made
//	  24  start      u64   /
//	  32  boot       16 B  identity of the boot
//	  48  pidns      u64   pid namespace in which pid is meant
//	  56  family     u64   A
//	  64  word       u32   A  0: no stream traces the process; else changes with every change
//	  68  generation u32   A  counts the changes
//	  72  usernames  u32   A  user event names the program has registered
//	  76  seq        u32   A  odd while entries change
//	  80  opened     u32   A  the program of the process that has opened the page itself (sys.ProgramID)
//	  84  moved      u32   A  not 0: the file was removed, and the process has another page
//	  88  group      u32   A  1: all members of the process group that it leads descend from it
//	  92  zero
//	 128  entry[64], each
//	        0  stream    u64  A  0: free
//	        8  flags     u32  A
//	       12  reserved  u32
//	       16  attached  u64  A  tick (sys.NowTicks)
//	1664  zero
//
// Words marked A change after the page was published and are accessed only by atomic operations; the
// rest is constant. The byte order is the machine's: little-endian on all supported machines.
//
// Changes are made under the lock of the directory. Their order within an entry (stream last when it
// is added, first when it is removed) keeps every entry consistent at any instant, so a writer killed
// half-way leaves no more than an odd seq.
const (
	pageSize  = 4096
	pageMagic = 0x3130_4547_4150_5450 // "PTPAGE01"

	offMagic      = 0
	offSize       = 8
	offEntrySize  = 12
	offPID        = 16
	offSession    = 20
	offStart      = 24
	offBoot       = 32
	offNamespace  = 48
	offFamily     = 56
	offWord       = 64
	offGeneration = 68
	offUserNames  = 72
	offSeq        = 76
	offOpened     = 80
	offMoved      = 84
	offGroup      = 88
	offEntries    = 128

	entrySize   = 24
	entStream   = 0
	entFlags    = 8
	entAttached = 16

	// MaxStreams is how many streams can be attached to one process.
	MaxStreams = 64
)

// bootID returns the identity of the boot, all zero when unknown.
func bootID() (id [16]byte) {
	if b, err := hex.DecodeString(strings.ReplaceAll(sys.BootID(), "-", "")); err == nil && len(b) == len(id) {
		copy(id[:], b)
	}
	return id
}

// putHeader writes the constant part of a new page.
func putHeader(b []byte, p sys.Proc, session int) {
	le := binary.NativeEndian
	le.PutUint64(b[offMagic:], pageMagic)
	le.PutUint32(b[offSize:], pageSize)
	le.PutUint32(b[offEntrySize:], entrySize)
	le.PutUint32(b[offPID:], p.PID)
	le.PutUint32(b[offSession:], uint32(session))
	le.PutUint64(b[offStart:], p.Start)
	boot := bootID()
	copy(b[offBoot:], boot[:])
	le.PutUint64(b[offNamespace:], sys.PIDNamespace())
}

type verdict int

const (
	pageSound   verdict = iota
	pageDamaged         // not a page, or not of this process
	pageForeign         // of another pid namespace: not ours to use or remove
	pageOld             // of an earlier boot, or a pid namespace that is gone
)

// sameBoot reports whether a page is of this boot. An unknown boot matches any: a process that does
// not see the whole of /proc (subset=pid) knows no boot id.
func sameBoot(boot [16]byte) bool {
	ours, unknown := bootID(), [16]byte{}
	return boot == ours || boot == unknown || ours == unknown
}

// checkHeader checks a page that should be that of p.
func checkHeader(b []byte, p sys.Proc) verdict {
	le := binary.NativeEndian
	if len(b) != pageSize || le.Uint64(b[offMagic:]) != pageMagic || le.Uint32(b[offSize:]) != pageSize ||
		le.Uint32(b[offEntrySize:]) != entrySize || le.Uint32(b[offPID:]) != p.PID || le.Uint64(b[offStart:]) != p.Start {
		return pageDamaged
	}
	if !sameBoot([16]byte(b[offBoot:])) {
		return pageOld
	}
	if ns := le.Uint64(b[offNamespace:]); ns != sys.PIDNamespace() {
		if sys.NamespaceGone(ns) {
			return pageOld
		}
		return pageForeign
	}
	return pageSound
}
