package posixtrace

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/loaded"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// ownMaps returns what this process has mapped when it first becomes a writer of a stream: its
// program and, with cgo, the libraries.
var ownMaps = sync.OnceValue(func() *stream.Maps {
	program := programNumber()
	found, err := readOwnMaps()
	var list []stream.Mapping
	for i := range found {
		m := &found[i]
		d := MapData{
			Start: m.Start, End: m.End, Offset: m.Offset, Path: m.Path, BuildID: m.BuildID, Removed: m.Removed,
			Program: program,
		}
		list = append(list, stream.Mapping{Start: d.Start, End: d.End, Data: d.Append(nil)})
	}
	if err != nil {
		d := MapData{End: math.MaxUint64, Program: program, Err: syscall.EIO}
		errors.As(err, &d.Err)
		list = []stream.Mapping{{End: d.End, Data: d.Append(nil)}}
	}
	t := new(stream.Maps)
	t.Set(list)
	return t
})

func readOwnMaps() ([]loaded.Mapping, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer maps.Close()
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	return loaded.All(maps, mem, stream.MaxMaps)
}

// Entries of the auxiliary vector: AT_ENTRY, AT_RANDOM, AT_SYSINFO_EHDR.
const (
	auxEntry  = 9
	auxRandom = 25
	auxVDSO   = 33
)

// programNumber returns a number that differs, most likely, from that of any other program that
// this process executes, and that all runtimes in this program agree on. It is made of addresses that
// the kernel chooses for each program, and of no secret. libposixtrace/mappings.c has it, too.
func programNumber() uint64 {
	b, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return 0
	}
	n := uint64(0)
	for _, want := range [...]uint64{auxVDSO, auxEntry, auxRandom} {
		v := uint64(0)
		for b := b; len(b) >= 16; b = b[16:] {
			if binary.NativeEndian.Uint64(b) == want {
				v = binary.NativeEndian.Uint64(b[8:])
			}
		}
		n = (n ^ v) * 0x9e3779b97f4a7c15
	}
	return n
}
