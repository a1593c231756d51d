package resources

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Cgroup is the cgroup of a process whose memory has a limit: its own, or else the nearest around it; its own
// if none has. Files that are not there are nil.
type Cgroup struct {
	current, peak, limit, events *os.File
	cpu                          *os.File
	stall                        [3]*os.File // of cpu, memory, io
	kills                        string      // key of the number of kills in events
	throttled                    string      // key of the time in cpu
	unit                         time.Duration
	buf                          []byte
}

// noLimit is from where on a number stands for no limit: version 1 has one near the largest of 63 bits.
const noLimit = 1 << 50

// OpenCgroup opens the cgroup of a process. root is where cgroup file systems are mounted, and membership the
// content of proc_pid_cgroup(5).
func OpenCgroup(root string, membership []byte) *Cgroup {
	g := &Cgroup{buf: make([]byte, 4096)}
	unified := ""
	for _, line := range strings.Split(string(membership), "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) < 3 {
			continue
		}
		if f[0] == "0" {
			unified = filepath.Clean("/" + f[2])
		}
		switch {
		case f[0] == "0" && g.current == nil:
			g.openUnified(root, f[2])
		case f[1] == "memory":
			g.closeMemory()
			*g = Cgroup{buf: g.buf, cpu: g.cpu, throttled: g.throttled, unit: g.unit}
			g.openMemory(filepath.Join(root, "memory"), f[2])
		case strings.HasPrefix(f[1], "cpu") && !strings.HasPrefix(f[1], "cpuset") && f[1] != "cpuacct":
			if file := open(filepath.Join(root, f[1], filepath.Clean("/"+f[2])), "cpu.stat"); file != nil {
				g.cpu, g.throttled, g.unit = file, "throttled_time ", 1
			}
		}
	}
	if g.stall == [len(g.stall)]*os.File{} && unified != "/" && unified != "" {
		// Both versions are mounted: version 1 has the controllers. The figures of the root are the machine's.
		g.openStall(filepath.Join(root, "unified", unified))
	}
	return g
}

func open(dir, name string) *os.File {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	return f
}

// nearest returns the directory of the cgroup to look at: limit is the name of its limit.
func nearest(root, path, limit string, usage string) string {
	own := ""
	for at := filepath.Clean("/" + path); ; at = filepath.Dir(at) {
		dir := filepath.Join(root, at)
		if b, err := os.ReadFile(filepath.Join(dir, limit)); err == nil {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil && n > 0 && n < noLimit {
				return dir
			}
		}
		if _, err := os.Stat(filepath.Join(dir, usage)); err == nil && own == "" {
			own = dir
		}
		if at == "/" {
			return own
		}
	}
}

func (g *Cgroup) openUnified(root, path string) {
	dir := nearest(root, path, "memory.max", "memory.current")
	if dir == "" {
		return
	}
	g.current, g.peak, g.limit, g.events = open(dir, "memory.current"), open(dir, "memory.peak"), open(dir, "memory.max"), open(dir, "memory.events")
	g.kills = "oom_kill "
	own := filepath.Join(root, filepath.Clean("/"+path))
	if f := open(own, "cpu.stat"); f != nil {
		g.cpu, g.throttled, g.unit = f, "throttled_usec ", time.Microsecond
	}
	g.openStall(own)
}

func (g *Cgroup) openStall(dir string) {
	for i, name := range [...]string{"cpu.pressure", "memory.pressure", "io.pressure"} {
		g.stall[i] = open(dir, name)
	}
}

func (g *Cgroup) openMemory(root, path string) {
	dir := nearest(root, path, "memory.limit_in_bytes", "memory.usage_in_bytes")
	if dir == "" {
		return
	}
	g.current, g.peak, g.limit = open(dir, "memory.usage_in_bytes"), open(dir, "memory.max_usage_in_bytes"), open(dir, "memory.limit_in_bytes")
	g.events, g.kills = open(dir, "memory.oom_control"), "oom_kill "
}

// Look sets the figures of the cgroup.
func (g *Cgroup) Look(d *posixtrace.ResSampleData) {
	if g.current == nil {
		return
	}
	d.Group = true
	d.Memory, d.Peak = g.number(g.current), g.number(g.peak)
	if d.Limit = g.number(g.limit); d.Limit >= noLimit {
		d.Limit = 0
	}
	d.OOMKills = g.key(g.events, g.kills)
	if g.cpu != nil {
		d.Throttled = time.Duration(g.key(g.cpu, g.throttled)) * g.unit
	}
	for i, to := range [...]*time.Duration{&d.CPUStall, &d.MemoryStall, &d.IOStall} {
		*to = time.Duration(g.key(g.stall[i], "total=")) * time.Microsecond
	}
}

// number returns the number that is all of a file, or 0.
func (g *Cgroup) number(f *os.File) int64 {
	return field(append([]byte{'\n'}, g.content(f)...), "\n")
}

// key returns the first number after a key that a line or a space precedes, or 0.
func (g *Cgroup) key(f *os.File, key string) int64 {
	b := g.content(f)
	for i := 0; i < len(b); {
		n := bytes.Index(b[i:], []byte(key))
		if n < 0 {
			return 0
		}
		i += n
		if i == 0 || b[i-1] == '\n' || b[i-1] == ' ' {
			return field(b[i:], key)
		}
		i += len(key)
	}
	return 0
}

func (g *Cgroup) content(f *os.File) []byte {
	if f == nil {
		return nil
	}
	n, _ := f.ReadAt(g.buf, 0)
	return g.buf[:n]
}

// Close closes the files.
func (g *Cgroup) Close() {
	g.closeMemory()
	g.cpu.Close() // nil is no file
}

// closeMemory closes the files but that of processor time.
func (g *Cgroup) closeMemory() {
	for _, f := range [...]*os.File{g.current, g.peak, g.limit, g.events, g.stall[0], g.stall[1], g.stall[2]} {
		f.Close() // nil is no file
	}
}
