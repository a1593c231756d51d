package tracer

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// filesTracer returns a tracer that records files of this process, and a function that returns the events.
func filesTracer(t *testing.T) (tr *tracer, k *task, events func() []posixtrace.FileData) {
	t.Helper()
	ownTraceDir(t)
	s := runningStream(t)
	t.Cleanup(func() { s.Shutdown() })
	tr = &tracer{stream: s, cfg: Config{Want: Want{Files: true}}}
	var err error
	if tr.rec, err = s.Recorder(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.rec.Close() })
	return tr, &task{tid: os.Getpid(), pid: os.Getpid()}, func() (list []posixtrace.FileData) {
		r, err := s.Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			ev, err := r.Next()
			if err != nil {
				return list
			}
			if ev.ID == posixtrace.EventFileAccess {
				d, err := posixtrace.DecodeFile(ev.Data)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, d)
			}
		}
	}
}

// What the tracer keeps is bounded. What it forgets is recorded again, never lost, and missing files without
// room are counted.
func TestFilesAreBounded(t *testing.T) {
	tr, k, events := filesTracer(t)
	defer func(seen, kept int) { seenFiles, keptPaths = seen, kept }(seenFiles, keptPaths)
	seenFiles, keptPaths = 10, 10*(pathCost+8)
	recorded := map[string]int{}
	for range 3 {
		for i := range 40 {
			d := posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileRead, Path: fmt.Sprintf("/f%d", i)}
			for range 2 {
				if tr.isNew(k, &d) {
					recorded[d.Path]++
				}
			}
			if n := len(tr.useOf(k.pid).seen); n > seenFiles || n != tr.files.seen {
				t.Fatalf("%d entries, %d in all, bound %d", n, tr.files.seen, seenFiles)
			}
		}
	}
	if len(recorded) != 40 {
		t.Errorf("%d of 40 files are recorded", len(recorded))
	}
	for path, n := range recorded {
		if n < 1 || n > 3 {
			t.Errorf("%s is recorded %d times", path, n)
		}
	}
	for i := range 1000 {
		tr.changesName(k, fmt.Sprintf("/c%d", i))
		if tr.files.seen > seenFiles || len(tr.useOf(k.pid).changes) > seenFiles {
			t.Fatalf("%d entries, bound %d", tr.files.seen, seenFiles)
		}
	}
	for i := range 100 {
		tr.miss(k, fmt.Sprintf("/m%06d", i), unix.ENOENT)
		tr.miss(k, "/m000000", unix.ENOENT)
	}
	tr.filesEnded(k)
	var missing, others int64
	for _, d := range events() {
		if missing += d.Count; d.Path == "" {
			others += d.Count
		}
	}
	if missing != 200 || others != 90 && others != 89 {
		t.Errorf("%d look-ups, %d without a path", missing, others)
	}
	if tr.files.seen != 0 || tr.files.kept != 0 || len(tr.files.of) != 0 {
		t.Errorf("%d entries, %d bytes, %d processes after the end", tr.files.seen, tr.files.kept, len(tr.files.of))
	}
}

// A path that a process renames or removes names something else: what the process does with it is recorded again.
func TestFilesChangeNames(t *testing.T) {
	tr, k, _ := filesTracer(t)
	d := posixtrace.FileData{Kind: posixtrace.FileOpen, Path: "/a"}
	if !tr.isNew(k, &d) || tr.isNew(k, &d) {
		t.Fatal("a file is recorded once")
	}
	for range 3 {
		tr.changesName(k, "/a")
		if !tr.isNew(k, &d) || tr.isNew(k, &d) {
			t.Error("a new file of the name is recorded once")
		}
	}
	other := task{tid: 1, pid: 1}
	if !tr.isNew(&other, &d) {
		t.Error("another process has not used the file")
	}
}

func TestJoinPath(t *testing.T) {
	for _, test := range []struct{ dir, path, want string }{
		{"/a", "b", "/a/b"}, {"/", "b", "/b"}, {"", "/b", "/b"}, {"", "/", "/"}, {"/", ".", "/"}, {"/a", "./b//c/./", "/a/b/c"},
		{"/a", "../b", "/a/../b"}, {"/jail", "/etc//x", "/jail/etc/x"}, {"/a", "...", "/a/..."}, {"/a", ".b/.", "/a/.b"}, {"/a (deleted)", "x", "/a (deleted)/x"},
		{"/a", "/\xff\n", "/a/\xff\n"}, {"/a", "", "/a"}, {"", "", "/"},
	} {
		if got := joinPath(test.dir, []byte(test.path)); got != test.want {
			t.Errorf("joinPath(%q, %q) = %q, want %q", test.dir, test.path, got, test.want)
		}
	}
	for _, test := range []struct {
		path, dir, name string
		ok              bool
	}{
		{"/a/b", "/a", "b", true}, {"/b", "/", "b", true}, {"/", "", "", false}, {"/a/..", "", "", false}, {"b", "", "", false}, {"", "", "", false},
	} {
		if dir, name, ok := splitPath(test.path); dir != test.dir || name != test.name || ok != test.ok {
			t.Errorf("splitPath(%q) = %q, %q, %v", test.path, dir, name, ok)
		}
	}
}

// The filter decides on mmap(2) as sharedWrite does.
func TestFilterOfMappings(t *testing.T) {
	program := filterProgram(append(fileStops(), 1), nil)
	for prot := range uint64(8) {
		for _, flags := range []uint64{unix.MAP_PRIVATE, unix.MAP_SHARED, unix.MAP_SHARED_VALIDATE, unix.MAP_SHARED | unix.MAP_ANONYMOUS, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS, unix.MAP_SHARED | unix.MAP_FIXED} {
			args := [6]uint64{0, 4096, prot, flags, 3}
			if got, want := stops(t, program, unix.SYS_MMAP, args), sharedWrite(args); got != want {
				t.Errorf("prot %d, flags %#x: the filter stops it: %v, want %v", prot, flags, got, want)
			}
		}
	}
	whole := filterProgram(append(fileStops(), unix.SYS_MMAP), []int{unix.SYS_MMAP})
	if !stops(t, whole, unix.SYS_MMAP, [6]uint64{}) {
		t.Error("a filter for each mmap(2) does not stop one")
	}
	for _, nr := range append(fileStops(), unix.SYS_READ, unix.SYS_CLOSE, unix.SYS_MUNMAP, unix.SYS_EXIT_GROUP, unix.SYS_PRCTL) {
		if nr == unix.SYS_MMAP {
			continue
		}
		if got, want := stops(t, program, nr, [6]uint64{}), fileCalls[nr] != nil; got != want {
			t.Errorf("%s: the filter stops it: %v, want %v", names[nr], got, want)
		}
	}
}

// stops runs a filter as the kernel does, and reports whether it stops a call.
func stops(t *testing.T, program []unix.SockFilter, nr int, args [6]uint64) bool {
	t.Helper()
	load := func(at uint32) uint32 {
		switch {
		case at == dataNr:
			return uint32(nr)
		case at == dataArch:
			return auditArch
		}
		return uint32(args[(at-dataFirst)/8] >> (at % 8 * 8))
	}
	a := uint32(0)
	for i := 0; i < len(program); i++ {
		p := program[i]
		jump := func(ok bool) {
			if ok {
				i += int(p.Jt)
			} else {
				i += int(p.Jf)
			}
		}
		switch p.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = load(p.K)
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == p.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= p.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&p.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return p.K == unix.SECCOMP_RET_TRACE|mark
		default:
			t.Fatalf("instruction %d is %#x", i, p.Code)
		}
	}
	t.Fatal("the filter does not end")
	return false
}

// Nothing in a program is trusted.
func TestLoaderIn(t *testing.T) {
	for _, text := range []string{"", "\x7fELF", "\x7fELF\x02\x01\x01" + strings.Repeat("\xff", 200), "#!/bin/sh\n"} {
		if got := loaderIn(strings.NewReader(text)); got != "" {
			t.Errorf("%q has the loader %q", text, got)
		}
	}
}
