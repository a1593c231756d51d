package tool

import (
	"encoding/binary"
	"os"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/loaded"
)

// BuildID returns the build id among the notes of an ELF file, nil if there is none. The notes are
// untrusted.
func BuildID(notes []byte, order binary.ByteOrder) []byte { return loaded.BuildID(notes, order) }

// Mapping returns the mapping of a process that has an address. If the address is in none, its error
// is ErrUnmapped.
func Mapping(pid int, addr uint64) (d posixtrace.MapData, err error) {
	proc := "/proc/" + strconv.Itoa(pid)
	maps, err := os.Open(proc + "/maps")
	if err != nil {
		return d, err
	}
	defer maps.Close()
	mem, err := os.Open(proc + "/mem")
	if err != nil {
		return d, err
	}
	defer mem.Close()
	m, err := loaded.Find(maps, mem, addr)
	return posixtrace.MapData{
		Start: m.Start, End: m.End, Offset: m.Offset, Path: m.Path, BuildID: m.BuildID, Removed: m.Removed,
	}, err
}

// ErrUnmapped means that an address is in no mapping.
var ErrUnmapped = loaded.ErrUnmapped
