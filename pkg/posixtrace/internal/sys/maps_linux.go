package sys

import (
	"bytes"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Area is the part of an address space that has an address.
type Area struct {
	Start, End uint64
	Offset     uint64 // the place in the file of the byte at Start
	Name       string // as /proc/PID/maps shows it, but with newlines unescaped
	BuildID    []byte // the GNU build id of the file; nil if the kernel finds none
}

// areaQuery is struct procmap_query.
type areaQuery struct {
	size, flags, addr           uint64
	start, end, vmaFlags        uint64
	pageSize, offset, inode     uint64
	major, minor                uint32
	nameSize, buildIDSize       uint32
	nameAddress, buildIDAddress uint64
}

// procmapQuery is PROCMAP_QUERY: _IOWR('f', 17, struct procmap_query).
const procmapQuery = 3<<30 | unsafe.Sizeof(areaQuery{})<<16 | 'f'<<8 | 17

// AreaAt asks the kernel for the area with an address in the process whose /proc/PID/maps is open. It
// fails with ENOENT if the address is in none, and with ENOTTY before Linux 6.11.
func AreaAt(maps *os.File, addr uint64) (a Area, err error) {
	var answer struct {
		query areaQuery
		name  [unix.PathMax]byte
		id    [64]byte
	}
	var pin runtime.Pinner // the kernel writes to addresses that are numbers here
	pin.Pin(&answer)
	defer pin.Unpin()
	q := &answer.query
	*q = areaQuery{
		size: uint64(unsafe.Sizeof(*q)), addr: addr,
		nameSize: uint32(len(answer.name)), nameAddress: uint64(uintptr(unsafe.Pointer(&answer.name))),
		buildIDSize: uint32(len(answer.id)), buildIDAddress: uint64(uintptr(unsafe.Pointer(&answer.id))),
	}
	err = retry(func() error {
		_, _, no := unix.Syscall(unix.SYS_IOCTL, maps.Fd(), procmapQuery, uintptr(unsafe.Pointer(q)))
		if no != 0 {
			return no
		}
		return nil
	})
	if err != nil {
		return a, err
	}
	name, _, _ := bytes.Cut(answer.name[:min(int(q.nameSize), len(answer.name))], []byte{0})
	a = Area{Start: q.start, End: q.end, Offset: q.offset, Name: string(name)}
	if n := min(int(q.buildIDSize), len(answer.id)); n > 0 {
		a.BuildID = bytes.Clone(answer.id[:n])
	}
	return a, nil
}
