//go:build linux

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

// mark is the data that our filter returns with SECCOMP_RET_TRACE. It distinguishes our
// filter from one of the program's own, which may return SECCOMP_RET_TRACE too.
const mark = 0x7074

// x32Bit marks the numbers of the calls of the x32 ABI of x86-64.
const x32Bit = 0x40000000

// filterProgram returns a program for seccomp(2) that stops a thread for its tracer at the
// given calls, at mmap(2) only if it maps a file to write to it, unless mmap is in whole. It allows the calls of other architectures. The kernel does not even run the
// program for calls that it always allows.
func filterProgram(nrs, whole []int) []unix.SockFilter {
	nrs = slices.Compact(slices.Sorted(slices.Values(nrs)))
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	equal := func(k uint32) unix.SockFilter { // skips one instruction if not equal
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
		// Stop at prctl(2) only if it sets a filter.
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PRCTL, Jf: 4},
			load(dataFirst), equal(unix.PR_SET_SECCOMP), give(unix.SECCOMP_RET_TRACE|mark), give(unix.SECCOMP_RET_ALLOW))
	}
	if slices.Contains(nrs, unix.SYS_MMAP) && !slices.Contains(whole, unix.SYS_MMAP) {
		nrs = slices.DeleteFunc(nrs, func(nr int) bool { return nr == unix.SYS_MMAP })
		test := func(bits uint32, jt, jf uint8) unix.SockFilter {
			return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: bits, Jt: jt, Jf: jf}
		}
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_MMAP, Jf: 7},
			load(dataFirst+2*8), test(unix.PROT_WRITE, 0, 4),
			load(dataFirst+3*8), test(unix.MAP_SHARED, 0, 2), test(unix.MAP_ANONYMOUS, 1, 0),
			give(unix.SECCOMP_RET_TRACE|mark), give(unix.SECCOMP_RET_ALLOW))
	}
	for _, nr := range nrs {
		p = append(p, equal(uint32(nr)), give(unix.SECCOMP_RET_TRACE|mark))
	}
	return append(p, give(unix.SECCOMP_RET_ALLOW))
}

// install sets a filter for this thread, its future children and the programs that they
// execute. It cannot be removed.
func install(p []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	set := func() error {
		// Kernels slow a program with a filter down, to mitigate speculation attacks by
		// sandboxed programs. This filter is no sandbox, so SPEC_ALLOW turns that off.
		// Kernels before 4.17 do not know the flag.
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
		// Without privilege, a filter requires no_new_privs, which disables set-uid programs.
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			err = set()
		}
	}
	return err
}

const instructionSize = 8

// appendProgram encodes a program for a packet.
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
