//go:build linux

package procfs

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
)

// Mount is a row of proc_pid_mountinfo(5). The kernel knows it without asking the file system, which may not
// answer.
type Mount struct {
	ID, Device, Point, Kind, Source string
}

// String names the file system: where it is, of what kind, and what of.
func (m Mount) String() string {
	text := m.Point + " (" + m.Kind
	if m.Source != "" && m.Source != "none" && m.Source != m.Kind {
		text += " of " + m.Source
	}
	return text + ")"
}

// Served reports whether another process or machine serves the file system, and may not answer.
func (m Mount) Served() bool {
	if strings.HasPrefix(m.Kind, "fuse.") {
		return true
	}
	switch m.Kind {
	case "fuse", "fuseblk", "coda", "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs", "lustre", "beegfs", "gpfs", "glusterfs", "orangefs", "vboxsf", "autofs":
		return true
	}
	return false
}

// Mounts returns what is mounted in the namespace of a process.
func Mounts(pid int) []Mount {
	const most = 4 << 20 // bytes
	f, err := os.Open(File(pid, "mountinfo"))
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, most))
	return parseMounts(string(b))
}

func parseMounts(info string) (list []Mount) {
	for line := range strings.Lines(info) {
		before, after, _ := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) >= 5 && len(g) >= 2 {
			list = append(list, Mount{f[0], f[2], unescaped.Replace(f[4]), g[0], unescaped.Replace(g[1])})
		}
	}
	return list
}

// unescaped has what mountinfo writes for the characters that separate its fields.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// ServedProgram reports whether a process executes a program, or has mapped a library, of a file system that is
// served.
func ServedProgram(pid int) bool {
	const most = 4 << 20 // bytes
	list := Mounts(pid)
	if !slices.ContainsFunc(list, Mount.Served) {
		return false
	}
	f, err := os.Open(File(pid, "maps"))
	if err != nil {
		return false
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, most))
	for line := range bytes.Lines(b) {
		if i := bytes.IndexByte(line, '/'); i > 0 {
			if m, ok := MountOf(list, string(bytes.TrimSuffix(line[i:], []byte{'\n'}))); ok && m.Served() {
				return true
			}
		}
	}
	return false
}

// MountOf returns the mount that an absolute path is on.
func MountOf(list []Mount, path string) (m Mount, ok bool) {
	for _, o := range list { // the later of two on one place hides the other
		in := o.Point == "/" || path == o.Point || strings.HasPrefix(path, o.Point+"/")
		if in && len(o.Point) >= len(m.Point) {
			m, ok = o, true
		}
	}
	return m, ok
}
