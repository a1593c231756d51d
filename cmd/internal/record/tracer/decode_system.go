//go:build linux

package tracer

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// appendSystem appends a structure that says something about a process, a file or the system.
func (t *tracer) appendSystem(b []byte, k *task, i int, how kind, d *posixtrace.SyscallData) []byte {
	c, tid := &k.call, k.tid
	v := c.raw[i]
	switch how {
	case kOffset:
		return t.appendOffset(b, tid, v)
	case kFileLock, kFileLockOut:
		return t.appendLock(b, tid, v, how == kFileLockOut)
	case kCPUs:
		return t.appendCPUs(b, tid, v, c.raw[(i+5)%6])
	case kCPUsOut:
		return t.appendCPUs(b, tid, v, uint64(max(d.Result, 0)))
	case kIDs:
		return t.appendIDs(b, tid, v, int64(int32(c.raw[(i+5)%6])))
	case kIDsOut:
		return t.appendIDs(b, tid, v, d.Result)
	case kStack, kStackOut:
		return t.appendStack(b, tid, v)
	case kEndOut:
		return t.appendChildEnd(b, tid, v)
	case kUsageOut:
		return t.appendUsage(b, tid, v)
	case kUnameOut:
		return t.appendUname(b, tid, v)
	case kSystemOut:
		return t.appendSysinfo(b, tid, v)
	case kFilesOut:
		return t.appendStatfs(b, tid, v)
	}
	return appendAddress(b, v)
}

func (t *tracer) appendOffset(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 8)
	if !ok {
		return appendAddress(b, addr)
	}
	return append(strconv.AppendInt(append(b, '['), int64(r.word()), 10), ']')
}

// appendLock appends struct flock. Only the kernel sets who has the lock.
func (t *tracer) appendLock(b []byte, tid int, addr uint64, owned bool) []byte {
	r, ok := t.structure(tid, addr, 32)
	if !ok {
		return appendAddress(b, addr)
	}
	b = flagTables[fLockType].append(append(b, "{type="...), uint64(r.half()))
	b = flagTables[fSeek].append(append(b, " whence="...), uint64(r.half()))
	r.int() // padding
	b = strconv.AppendInt(append(b, " start="...), int64(r.word()), 10)
	b = strconv.AppendInt(append(b, " len="...), int64(r.word()), 10)
	if pid := r.int(); owned {
		b = strconv.AppendInt(append(b, " pid="...), int64(pid), 10)
	}
	return append(b, '}')
}

// appendCPUs appends a set of processors.
func (t *tracer) appendCPUs(b []byte, tid int, addr, size uint64) []byte {
	r, ok := t.structure(tid, addr, int(min(size, uint64(len(t.copied)))))
	if !ok || size == 0 {
		return appendAddress(b, addr)
	}
	return appendBits(b, r.b)
}

// appendIDs appends an array of the ids of users or groups.
func (t *tracer) appendIDs(b []byte, tid int, addr uint64, count int64) []byte {
	shown := int(min(max(count, 0), listMax))
	r, ok := t.structure(tid, addr, 4*shown)
	if !ok && shown > 0 || addr == 0 {
		return appendAddress(b, addr)
	}
	b = append(b, '[')
	for i := range shown {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendUint(b, uint64(uint32(r.int())), 10)
	}
	return appendEnd(b, int(min(count, 1<<30)), shown)
}

// appendStack appends the stack of signal handlers.
func (t *tracer) appendStack(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 24)
	if !ok {
		return appendAddress(b, addr)
	}
	b = appendAddress(append(b, "{sp="...), r.word())
	b = flagTables[fStack].append(append(b, " flags="...), uint64(uint32(r.word())))
	return append(strconv.AppendUint(append(b, " size="...), r.word(), 10), '}')
}

// endCodes are how a process has ended or changed, as siginfo_t has it.
var endCodes = []string{"", "CLD_EXITED", "CLD_KILLED", "CLD_DUMPED", "CLD_TRAPPED", "CLD_STOPPED", "CLD_CONTINUED"}

// appendChildEnd appends the siginfo_t of waitid(2).
func (t *tracer) appendChildEnd(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 32)
	if !ok {
		return appendAddress(b, addr)
	}
	signal := r.int()
	if r.int(); signal == 0 {
		return append(b, "{}"...) // WNOHANG, and no child has ended
	}
	code := int(r.int())
	r.int() // padding
	b = appendSignal(append(b, "{signo="...), int(signal))
	if b = append(b, " code="...); code > 0 && code < len(endCodes) {
		b = append(b, endCodes[code]...)
	} else {
		b = strconv.AppendInt(b, int64(code), 10)
	}
	b = strconv.AppendInt(append(b, " pid="...), int64(r.int()), 10)
	b = strconv.AppendInt(append(b, " uid="...), int64(r.int()), 10)
	if b = append(b, " status="...); code == 1 {
		b = strconv.AppendInt(b, int64(r.int()), 10)
	} else {
		b = appendSignal(b, int(r.int()))
	}
	return append(b, '}')
}

// appendUsage appends the times and the memory of struct rusage.
func (t *tracer) appendUsage(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 40)
	if !ok {
		return appendAddress(b, addr)
	}
	seconds := r.word()
	b = appendSeconds(append(b, "{utime="...), seconds, r.word(), 6)
	seconds = r.word()
	b = appendSeconds(append(b, " stime="...), seconds, r.word(), 6)
	return append(strconv.AppendUint(append(b, " maxrss="...), r.word(), 10), '}')
}

// appendUname appends the names of the system, the host and the machine of struct utsname.
func (t *tracer) appendUname(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, int(unsafe.Sizeof(unix.Utsname{})))
	if !ok {
		return appendAddress(b, addr)
	}
	const size = 65
	for i, label := range []string{"{sysname=", " nodename=", " release=", "", " machine="} {
		if label == "" {
			continue
		}
		name, _, _ := bytes.Cut(r.b[i*size:(i+1)*size], []byte{0})
		b = appendQuoted(append(b, label...), name)
	}
	return append(b, '}')
}

// appendSysinfo appends how long the system runs, its memory and the number of its processes.
func (t *tracer) appendSysinfo(b []byte, tid int, addr uint64) []byte {
	var s unix.Sysinfo_t
	if !readStructure(tid, addr, &s) {
		return appendAddress(b, addr)
	}
	b = strconv.AppendInt(append(b, "{uptime="...), int64(s.Uptime), 10)
	b = strconv.AppendUint(append(b, " totalram="...), uint64(s.Totalram), 10)
	b = strconv.AppendUint(append(b, " freeram="...), uint64(s.Freeram), 10)
	return append(strconv.AppendUint(append(b, " procs="...), uint64(s.Procs), 10), '}')
}

// appendStatfs appends the type of a file system, its size and what is free.
func (t *tracer) appendStatfs(b []byte, tid int, addr uint64) []byte {
	var s unix.Statfs_t
	if !readStructure(tid, addr, &s) {
		return appendAddress(b, addr)
	}
	b = flagTables[fFileSystem].append(append(b, "{type="...), uint64(s.Type))
	b = strconv.AppendInt(append(b, " bsize="...), int64(s.Bsize), 10)
	b = strconv.AppendUint(append(b, " blocks="...), s.Blocks, 10)
	return append(strconv.AppendUint(append(b, " bavail="...), s.Bavail, 10), '}')
}

// readStructure copies a structure of a process. It returns false if that cannot be read.
func readStructure[T any](tid int, addr uint64, to *T) bool {
	m := unsafe.Slice((*byte)(unsafe.Pointer(to)), unsafe.Sizeof(*to))
	return readMemory(tid, addr, m) == len(m)
}
