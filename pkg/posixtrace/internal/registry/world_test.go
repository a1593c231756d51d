package registry

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A world is a trace directory and the processes that use it.
type world struct {
	t        *testing.T
	d        *Dir // of the test, which acts as a controller
	sock     string
	l        *net.UnixListener
	procs    []*stepProc
	families map[uint64]string // the labels of random families
	ticks    []uint64          // when a step began that may attach a stream
	held     *os.File          // a file of names, locked
}

// stepProc is a process that takes steps. Its index in world.procs is its label.
type stepProc struct {
	c    net.Conn
	in   *bufio.Reader
	proc sys.Proc
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, families: map[uint64]string{}}
	base := t.TempDir()
	w.sock = filepath.Join(base, "s")
	tracetest.OK(t, "mkdir", os.Mkdir(filepath.Join(base, "trace"), 0o700))
	var err error
	w.d, err = openDir(filepath.Join(base, "trace"))
	tracetest.OK(t, "open", err)
	w.d.FamilyOf = (&stepper{d: w.d}).familyOf
	l, err := net.Listen("unix", w.sock)
	tracetest.OK(t, "listen", err)
	w.l = l.(*net.UnixListener)
	t.Cleanup(func() {
		l.Close()
		for i := range w.procs {
			w.end(i)
		}
		if w.held != nil {
			w.held.Close()
		}
		w.d.Close()
	})
	return w
}

// first starts a process in a session of its own.
func (w *world) first(prog string) {
	w.t.Helper()
	cmd := exec.Command(prog)
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+w.d.path, "REGISTRY_SOCKET="+w.sock, "REGISTRY_ROLE=step", "PTRACE_STREAM=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	tracetest.OK(w.t, "start", cmd.Start())
	go cmd.Wait()
	w.procs = append(w.procs, w.accept())
}

// accept waits for a process to connect.
func (w *world) accept() *stepProc {
	w.t.Helper()
	w.l.SetDeadline(time.Now().Add(patience))
	c, err := w.l.Accept()
	tracetest.OK(w.t, "accept", err)
	p := &stepProc{c: c, in: bufio.NewReader(c)}
	var pid int
	if _, err := fmt.Sscan(w.answer(p), &pid); err != nil {
		w.t.Fatal(err)
	}
	p.proc, err = sys.Lookup(pid)
	tracetest.OK(w.t, "lookup", err)
	return p
}

func (w *world) answer(p *stepProc) string {
	w.t.Helper()
	p.c.SetDeadline(time.Now().Add(patience))
	s, err := p.in.ReadString('\n')
	if err != nil {
		w.t.Fatalf("process %d: %v", p.proc.PID, err)
	}
	return strings.TrimSpace(s)
}

// step has process i take a step and returns its answer.
func (w *world) step(i int, format string, args ...any) string {
	w.t.Helper()
	p := w.procs[i]
	if _, err := fmt.Fprintf(p.c, format+"\n", args...); err != nil {
		w.t.Fatalf("process %d: %v", i, err)
	}
	return w.answer(p)
}

// spawn has process i start another one.
func (w *world) spawn(i int, prog, how string) string {
	w.t.Helper()
	fmt.Fprintf(w.procs[i].c, "spawn %s %s\n", prog, how)
	p := w.accept()
	w.procs = append(w.procs, p)
	return w.answer(w.procs[i])
}

// exec has process i execute a program.
func (w *world) exec(i int, prog string) string {
	w.t.Helper()
	fmt.Fprintf(w.procs[i].c, "exec %s\n", prog)
	p := w.accept()
	w.procs[i].c.Close()
	if p.proc != w.procs[i].proc {
		w.t.Fatalf("process %v has become %v", w.procs[i].proc, p.proc)
	}
	w.procs[i] = p
	return ""
}

// end kills process i.
func (w *world) end(i int) {
	p := w.procs[i]
	if p.proc.Alive() {
		syscall.Kill(int(p.proc.PID), syscall.SIGKILL)
		waitFor(w.t, "the end of a process", func() bool { return !p.proc.Alive() })
	}
	p.c.Close()
}

// sweep sweeps all, until a sweep finds no more.
func (w *world) sweep() { (&stepper{d: w.d}).sweep() }

// family returns the family of process i, 0 if it has no page.
func (w *world) family(i int) uint64 {
	b, err := w.d.readPage(w.procs[i].proc)
	if err != nil || len(b) != pageSize {
		return 0
	}
	return binary.NativeEndian.Uint64(b[offFamily:])
}

// label returns the label of a process.
func (w *world) label(p sys.Proc) string {
	for i, q := range w.procs {
		if q.proc == p {
			return fmt.Sprint(i)
		}
	}
	return fmt.Sprint(p)
}

// familyLabel names a random family after the first process that has it.
func (w *world) familyLabel(family uint64, by string) string {
	if family < 1<<16 {
		return fmt.Sprint(family)
	}
	if w.families[family] == "" {
		w.families[family] = "of " + by
	}
	return w.families[family]
}

// when returns the number of steps that began at a tick or before.
func (w *world) when(tick uint64) int {
	n, _ := slices.BinarySearch(w.ticks, tick+1)
	return n
}

// snapshot describes the directory. Numbers that differ from run to run have labels.
func (w *world) snapshot() (lines []string) {
	w.t.Helper()
	names, err := w.d.names()
	tracetest.OK(w.t, "list", err)
	slices.Sort(names)
	for i, p := range w.procs { // in the order of the labels
		if slices.Contains(names, pageName(p.proc)) {
			lines = append(lines, w.describe(pageName(p.proc), fmt.Sprintf("page %d", i), w.showPage))
		}
	}
	for _, name := range names {
		p, isPage := parsePageName(name)
		family, isNames := parseNamesName(name)
		_, isStream := parseStreamName(name)
		switch {
		case isPage && w.label(p) != fmt.Sprint(p):
		case isPage:
			lines = append(lines, w.describe(name, name, w.showPage))
		case isNames:
			lines = append(lines, w.describe(name, "names "+w.familyLabel(family, "?"), showNames))
		case isStream:
			lines = append(lines, w.describe(name, name, w.showStream))
		case strings.HasPrefix(name, "t-"):
			q, ns, _ := parseTempName(name)
			lines = append(lines, w.describe(name, fmt.Sprintf("unfinished %s %d", w.label(q), ns), nil))
		default:
			lines = append(lines, w.describe(name, name, nil))
		}
	}
	slices.Sort(lines)
	return lines
}

// describe describes a file.
func (w *world) describe(name, label string, show func(name string, b []byte) string) string {
	st, err := sys.StatAt(w.d.f, name)
	if err != nil {
		return fmt.Sprintf("%s: %v", label, err)
	}
	s := fmt.Sprintf("%s: %04o", label, st.Perm())
	if st.IsDir() {
		list, _ := os.ReadDir(filepath.Join(w.d.path, name))
		for _, e := range list {
			s += " " + e.Name()
		}
		return s
	}
	if show == nil {
		return fmt.Sprint(s, " ", st.Size)
	}
	b, err := os.ReadFile(filepath.Join(w.d.path, name))
	if err != nil {
		return fmt.Sprintf("%s: %v", label, err)
	}
	return s + " " + show(name, b)
}

func (w *world) showPage(name string, b []byte) string {
	if len(b) != pageSize {
		return fmt.Sprintf("%d bytes", len(b))
	}
	b = slices.Clone(b)
	ne := binary.NativeEndian
	u32 := func(at int) (v uint32) { v = ne.Uint32(b[at:]); clear(b[at : at+4]); return v }
	u64 := func(at int) (v uint64) { v = ne.Uint64(b[at:]); clear(b[at : at+8]); return v }
	p := sys.Proc{PID: u32(offPID), Start: u64(offStart)}
	session := u32(offSession)
	own := "of another session"
	for i, q := range w.procs {
		if q.proc.PID == session {
			own = fmt.Sprint(i)
		}
	}
	by := w.label(p)
	s := fmt.Sprintf("%s session=%s family=%q word=%d generation=%d names=%d seq=%d opened=%v moved=%d group=%d", by, own,
		w.familyLabel(u64(offFamily), by), u32(offWord), u32(offGeneration), u32(offUserNames), u32(offSeq), u32(offOpened) != 0, u32(offMoved), u32(offGroup))
	for at := offEntries; at < offEntries+MaxStreams*entrySize; at += entrySize {
		if stream := u64(at + entStream); stream != 0 || u32(at+entFlags) != 0 {
			s += fmt.Sprintf(" %x:%d@%d", stream, u32(at+entFlags), w.when(u64(at+entAttached)))
		}
	}
	return s + fmt.Sprintf(" rest %08x", sum(b))
}

// showNames shows the records of a file of names, then what is behind them.
func showNames(_ string, b []byte) string {
	t := newTable()
	t.take(b)
	return fmt.Sprintf("%v, %d bytes, %08x", t.order, len(b), sum(b))
}

func sum(b []byte) (s uint32) {
	for _, c := range b {
		s = s*31 + uint32(c)
	}
	return s
}

func (w *world) showStream(name string, _ []byte) string {
	id, _ := parseStreamName(name)
	m, unmap, err := streamOf(w.d, id)
	if err != nil {
		return "no stream"
	}
	defer unmap()
	filter := m.Filter()
	s := fmt.Sprintf("family=%q rejects", w.familyLabel(m.Family(), "?"))
	for id := range event.Max {
		if filter.Has(id) {
			s += fmt.Sprint(" ", id)
		}
	}
	return s
}

// newStream makes a stream of a family, which filters by patterns.
func (w *world) newStream(id, family uint64, patterns ...stream.Pattern) string {
	g, _ := stream.Measure(16<<10, 256, 2)
	f, temp, err := w.d.createTemp(id, g.Size)
	tracetest.OK(w.t, "create", err)
	defer f.Close()
	b, err := sys.Map(f, int(g.Size), true)
	tracetest.OK(w.t, "map", err)
	defer sys.Unmap(b)
	m, err := stream.Format(b, &stream.Config{Geometry: g, ID: id, Attributes: attr.Attributes{MaxDataSize: 256, StreamFullPolicy: stream.Loop}, Creator: sys.SelfProc(), PIDNS: sys.PIDNamespace()}, true)
	tracetest.OK(w.t, "format", err)
	m.SetFamily(family)
	m.SetPatterns(patterns)
	if err := sys.RenameNoReplace(w.d.f, temp, streamName(id)); err != nil {
		sys.UnlinkAt(w.d.f, temp)
		return errnoOf(err)
	}
	return ""
}

// write makes a file in the directory.
func (w *world) write(name string, b []byte) {
	tracetest.OK(w.t, "write", os.WriteFile(filepath.Join(w.d.path, name), b, 0o600))
}
