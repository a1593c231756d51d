package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// debugLink returns the name of the separate debug file that a file names, "" if it names none.
func debugLink(e *elf.File) string {
	s := e.Section(".gnu_debuglink")
	if s == nil || s.Type == elf.SHT_NOBITS || s.Size > maxName {
		return ""
	}
	b, err := s.Data()
	if err != nil {
		return ""
	}
	name, _, ok := bytes.Cut(b, []byte{0})
	if !ok || bytes.IndexByte(name, '/') >= 0 {
		return ""
	}
	return string(name)
}

// addDebugFile adds to a stripped file what its separate debug file has: the first one of the same
// build id. One of another build id describes another program.
func (t *Table) addDebugFile(f *file, o *Object) {
	for _, path := range t.debugFiles(f, o.Path) {
		in, _, err := openRegular(path)
		if err != nil {
			continue
		}
		d, err := readFile(in, &t.room)
		in.Close()
		if err != nil || len(d.buildID) == 0 || !bytes.Equal(d.buildID, f.buildID) {
			continue
		}
		if len(d.symbols) > 0 && !d.dynamic {
			f.symbols, f.names, f.dynamic = d.symbols, d.names, false
		}
		if f.lines == nil {
			f.lines = d.lines
		}
		return
	}
}

// debugFiles returns the paths at which the debug file of a file may be.
func (t *Table) debugFiles(f *file, path string) (list []string) {
	if len(f.buildID) < 2 {
		return nil
	}
	id := hex.EncodeToString(f.buildID)
	for _, dir := range t.DebugDirs {
		list = append(list, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
	}
	if f.link == "" || f.link == "." || f.link == ".." || !strings.HasPrefix(path, "/") {
		return list
	}
	dir := filepath.Dir(path)
	list = append(list, filepath.Join(dir, f.link), filepath.Join(dir, ".debug", f.link))
	for _, d := range t.DebugDirs {
		list = append(list, filepath.Join(d, dir, f.link))
	}
	return list
}
