package tracer

import (
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data.
const (
	dataNr    = 0
	dataArch  = 4
	dataFirst = 16 // the lower half of the first argument
)

// mark is what our filter says beside SECCOMP_RET_TRACE. A filter of the program's own may say that
// too, with a value of its own.
const mark = 0x7074

// x32Bit marks the numbers of another set of calls that x86-64 has.
const x32Bit = 0x40000000

// filterProgram makes a program for seccomp(2) that stops a thread for its tracer at
// the given calls. Those of other architectures pass. For calls that always pass the
// kernel does not even run it.
func filterProgram(nrs []int) []unix.SockFilter {
	nrs = slices.Compact(slices.Sorted(slices.Values(nrs)))
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	equal := func(k uint32) unix.SockFilter { // else skip one
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: 1}
	}
	give := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
	}
	p := []unix.SockFilter{
		load(dataArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch, Jt: 1},
		give(unix.SECCOMP_RET_ALLOW),
		load(dataNr),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: x32Bit, Jf: 1},
		give(unix.SECCOMP_RET_ALLOW),
	}
	if !slices.Contains(nrs, unix.SYS_PRCTL) {
		// Of prctl(2) only what sets a filter.
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PRCTL, Jf: 4},
			load(dataFirst), equal(unix.PR_SET_SECCOMP), give(unix.SECCOMP_RET_TRACE|mark), give(unix.SECCOMP_RET_ALLOW))
	}
	for _, nr := range nrs {
		p = append(p, equal(uint32(nr)), give(unix.SECCOMP_RET_TRACE|mark))
	}
	return append(p, give(unix.SECCOMP_RET_ALLOW))
}

// install sets a filter for this thread, and what it executes, for ever.
func install(p []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	set := func() error {
		// It confines nobody. Without the flag kernels slow down a program that has a
		// filter, against attacks of the kind that confined programs are good for; those
		// before 4.17 have none.
		for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, 0} {
			_, _, no := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
			if no != unix.EINVAL {
				return errnoOf(no)
			}
		}
		return unix.EINVAL
	}
	err := set()
	if err == unix.EACCES {
		// Who is no administrator has to give up set-uid programs for it.
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			err = set()
		}
	}
	return err
}

// A program as bytes, for a packet.

const instructionSize = 8

func appendProgram(b []byte, p []unix.SockFilter) []byte {
	for _, f := range p {
		b = binary.NativeEndian.AppendUint16(b, f.Code)
		b = append(b, f.Jt, f.Jf)
		b = binary.NativeEndian.AppendUint32(b, f.K)
	}
	return b
}

var errProgram = errors.New("malformed filter")

func parseProgram(b []byte) (p []unix.SockFilter, err error) {
	if len(b)%instructionSize != 0 || len(b) > instructionSize*unix.BPF_MAXINSNS {
		return nil, errProgram
	}
	for ; len(b) > 0; b = b[instructionSize:] {
		p = append(p, unix.SockFilter{
			Code: binary.NativeEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.NativeEndian.Uint32(b[4:]),
		})
	}
	return p, nil
}
