package tool

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/loaded"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// BuildID returns the build id among the notes of an ELF file, nil if there is none. The notes are
// untrusted.
func BuildID(notes []byte, order binary.ByteOrder) []byte { return loaded.BuildID(notes, order) }

// Mapping returns the mapping of a process that has an address. If the address is in none, its error
// is ErrUnmapped.
func Mapping(pid int, addr uint64) (d posixtrace.MapData, err error) {
	maps, err := os.Open("/proc/" + strconv.Itoa(pid) + "/maps")
	if err != nil {
		return d, err
	}
	defer maps.Close()
	if d, known, err := asked(maps, pid, addr); known {
		return d, err
	}
	return listed(maps, pid, addr)
}

// userEnd is above the addresses of programs. Those of the kernel include the vsyscall page, which the
// kernel lists but does not find.
const userEnd = 1 << 63

// asked returns the mapping that the kernel finds. It is not known before Linux 6.11, nor if the list of
// mappings is necessary to find the build id.
func asked(maps *os.File, pid int, addr uint64) (d posixtrace.MapData, known bool, err error) {
	if addr >= userEnd {
		return d, false, nil
	}
	a, err := sys.AreaAt(maps, addr)
	if errors.Is(err, syscall.ENOENT) {
		return d, true, ErrUnmapped
	}
	if err != nil {
		return d, false, err
	}
	d = posixtrace.MapData{Start: a.Start, End: a.End, Offset: a.Offset, BuildID: a.BuildID}
	d.Path, d.Removed = loaded.PathOf(a.Name)
	if d.BuildID != nil || !strings.HasPrefix(d.Path, "/") {
		return d, true, nil
	}
	// A program of Go has a build id that the kernel does not know.
	if d.Offset != 0 {
		return d, false, nil
	}
	mem, err := openMemory(pid)
	if err != nil {
		return d, false, err
	}
	defer mem.Close()
	d.BuildID = loaded.IDInMemory(mem, d.Start)
	return d, true, nil
}

// listed searches the list of all mappings, at which maps stands.
func listed(maps io.Reader, pid int, addr uint64) (d posixtrace.MapData, err error) {
	mem, err := openMemory(pid)
	if err != nil {
		return d, err
	}
	defer mem.Close()
	m, err := loaded.Find(maps, mem, addr)
	return posixtrace.MapData{
		Start: m.Start, End: m.End, Offset: m.Offset, Path: m.Path, BuildID: m.BuildID, Removed: m.Removed,
	}, err
}

func openMemory(pid int) (*os.File, error) { return os.Open("/proc/" + strconv.Itoa(pid) + "/mem") }

// ErrUnmapped means that an address is in no mapping.
var ErrUnmapped = loaded.ErrUnmapped

// Code is a mapping that a process may execute.
type Code = loaded.Code

// Executable returns the mappings of a process that may be executed, in the order of their addresses.
func Executable(pid int) ([]Code, error) {
	maps, err := os.Open("/proc/" + strconv.Itoa(pid) + "/maps")
	if err != nil {
		return nil, err
	}
	defer maps.Close()
	return loaded.Executable(maps)
}
