//go:build linux

package tracer

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// fileExecuted records the files of a program that a process has executed: the one that it named, the interpreter
// if that is a script, and the dynamic linker. The kernel opens them, not the process. The libraries the
// dynamic linker opens itself.
func (t *tracer) fileExecuted(k *task) {
	if !t.cfg.Want.Files || !t.wants(posixtrace.EventFileAccess, k) {
		return
	}
	exe := posixtrace.FileData{Kind: posixtrace.FileExec, Mode: posixtrace.FileInterpreter, Bytes: -1, Path: t.readLink(procfs.File(k.tid, "exe"))}
	t.identify(&exe, procfs.File(k.tid, "exe"))
	d := exe
	d.Mode = 0
	if k.call.in && k.call.file && k.file.known && k.file.path != "" {
		d.Path, d.Canonical = k.file.path, exe.Path
		named := posixtrace.FileData{Path: d.Path}
		if t.lookUp(k, &named, 0) && (named.Device != exe.Device || named.Inode != exe.Inode) {
			d.Device, d.Inode, d.Canonical = named.Device, named.Inode, named.Canonical
		}
	}
	script := d.Device != exe.Device || d.Inode != exe.Inode
	if t.isNew(k, &d) {
		t.recordFile(k, &d)
	}
	if script && t.isNew(k, &exe) {
		t.recordFile(k, &exe)
	}
	_, loader := t.programOf(k.tid)
	if loader == "" || loader[0] != '/' {
		return
	}
	l := posixtrace.FileData{Kind: posixtrace.FileExec, Mode: posixtrace.FileInterpreter, Bytes: -1, Path: joinPath(t.rootOf(k.tid), []byte(loader))}
	if t.isNew(k, &l) {
		t.lookUp(k, &l, 0)
		t.recordFile(k, &l)
	}
}

// loaderIn returns the path of the dynamic linker of a program of 64 bits. Nothing in the file is trusted.
func loaderIn(f io.ReaderAt) string {
	for _, s := range segmentsOf(f) {
		if elf.ProgType(s.Type) != elf.PT_INTERP || s.Filesz > unix.PathMax {
			continue
		}
		b := make([]byte, s.Filesz)
		if _, err := f.ReadAt(b, int64(s.Off)); err != nil {
			return ""
		}
		path, _, _ := bytes.Cut(b, []byte{0})
		return string(path)
	}
	return ""
}

// segmentsOf returns the segments of a program of 64 bits.
func segmentsOf(f io.ReaderAt) []elf.Prog64 {
	section := func(offset, size uint64) io.Reader { return io.NewSectionReader(f, int64(offset), int64(size)) }
	var h elf.Header64
	if binary.Read(section(0, uint64(binary.Size(h))), binary.LittleEndian, &h) != nil ||
		string(h.Ident[:4]) != elf.ELFMAG || h.Ident[elf.EI_CLASS] != byte(elf.ELFCLASS64) || h.Ident[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return nil
	}
	segments := make([]elf.Prog64, min(int(h.Phnum), maxSegments))
	if binary.Read(section(h.Phoff, uint64(binary.Size(segments))), binary.LittleEndian, segments) != nil {
		return nil
	}
	return segments
}

// program is what the tracer knows of an executable file.
type program struct {
	nature nature
	loader string // the path of the dynamic linker, or ""
}

// programOf describes the program that a process executes.
func (t *tracer) programOf(pid int) (nature, string) {
	f, err := os.Open(procfs.File(pid, "exe"))
	if err != nil {
		return traceable, ""
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return traceable, ""
	}
	id := identity{dev: uint64(st.Dev), ino: st.Ino, changed: unix.Timespec(st.Ctim)}
	p, ok := t.programs[id]
	if !ok {
		p = program{natureIn(dynamicNames(f)), loaderIn(f)}
		if len(t.programs) >= naturesAtMost || t.programs == nil {
			t.programs = make(map[identity]program)
		}
		t.programs[id] = p
	}
	return p.nature, p.loader
}
