package script_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// deepName is a path of the most bytes that the kernel takes, relative to a directory of this length.
func deepName(dir int) string {
	var b strings.Builder
	for left := unix.PathMax - 1 - dir - 1; left > 0; {
		n := min(left, 200)
		if left-n == 1 { // no room for a slash and a name
			n--
		}
		b.WriteString(strings.Repeat("d", n))
		if left -= n; left > 0 {
			b.WriteByte('/')
			left--
		}
	}
	return b.String()
}

// traceFiles does something with files in the working directory in each way that -e files records, or
// as its argument says.
func traceFiles() {
	runtime.LockOSThread()
	must := func(err error) {
		if err != nil {
			_, _, line, _ := runtime.Caller(1)
			fmt.Println("line", line, err)
			os.Exit(1)
		}
	}
	open := func(name string, flags int, perm uint32) int {
		fd, err := unix.Open(name, flags, perm)
		must(err)
		return fd
	}
	use := func(name string, flags int, perm uint32) { unix.Close(open(name, flags, perm)) }
	dir, err := os.Getwd()
	must(err)
	switch {
	case len(os.Args) > 1 && os.Args[1] == "storm":
		use("a", unix.O_CREAT|unix.O_WRONLY, 0o600)
		for range 1000 {
			must(unix.Rename("a", "b"))
			must(unix.Rename("b", "a"))
		}
		must(unix.Mkdir("dir", 0o700))
		use("dir/x", unix.O_CREAT|unix.O_WRONLY, 0o600)
		use("dir/x", unix.O_RDONLY, 0)
		must(unix.Rename("dir", "other"))
		must(unix.Rename("other", "dir"))
		use("dir/x", unix.O_RDONLY, 0)
		for range 3 { // another process removes the file
			must(exec.Command("rm", "dir/x").Run())
			use("dir/x", unix.O_CREAT|unix.O_WRONLY, 0o600)
			use("dir/x", unix.O_RDONLY, 0)
		}
		return
	case len(os.Args) > 1 && os.Args[1] == "chroot":
		must(unix.Mkdir("jail", 0o700))
		must(unix.Mkdir("jail/in", 0o700))
		must(unix.Chroot("jail"))
		must(unix.Chdir("/"))
		use("/f", unix.O_CREAT|unix.O_WRONLY, 0o600)
		must(unix.Symlink("/in", "/l"))
		settle("/l")
		use("/l/g", unix.O_CREAT|unix.O_WRONLY, 0o600)
		must(unix.Rename("/l/g", "in/h"))
		return
	case len(os.Args) > 1 && os.Args[1] == "threads":
		use("data", unix.O_CREAT|unix.O_RDWR, 0o600)
		var opened sync.WaitGroup
		for range 4 {
			opened.Add(1)
			go func() {
				runtime.LockOSThread() // and end the thread
				defer opened.Done()
				for range 50 {
					use("data", unix.O_RDONLY, 0)
				}
			}()
		}
		opened.Wait()
		cat, err := exec.LookPath("cat")
		must(err)
		must(exec.Command(cat, "data").Run())
		must(exec.Command(cat, "data").Run())
		must(unix.Exec(cat, []string{"cat", "data"}, os.Environ()))
	case len(os.Args) > 1 && os.Args[1] == "io_uring":
		var parameters [120]byte
		unix.RawSyscall(unix.SYS_IO_URING_SETUP, 0, uintptr(unsafe.Pointer(&parameters)), 0)
		return
	case len(os.Args) > 1 && os.Args[1] == "many":
		for i := range 3000 {
			unix.Open("absent"+strconv.Itoa(i), unix.O_RDONLY, 0)
		}
		return
	}
	use("new", unix.O_CREAT|unix.O_WRONLY, 0o640)
	use("new", unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, 0o640)
	for range 3 {
		use("new", unix.O_RDONLY, 0)
	}
	use("new", unix.O_RDWR|unix.O_APPEND, 0)
	use("new", unix.O_PATH, 0)
	use(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	use("exclusive", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, 0o600)
	must(unix.Symlink("new", "link"))
	use("./link", unix.O_RDONLY, 0)
	must(unix.Link("new", "hard"))
	must(unix.Rename("hard", "moved"))
	must(unix.Renameat2(unix.AT_FDCWD, "moved", unix.AT_FDCWD, "new", unix.RENAME_EXCHANGE))
	must(unix.Mkdir("sub", 0o750))
	must(unix.Symlink("sub", "way"))
	settle("way")
	must(unix.Mkdir(dir+"/way/inner", 0o700))
	must(unix.Rmdir("way/inner"))
	must(unix.Chdir("sub"))
	use("../moved", unix.O_RDONLY, 0)
	must(unix.Chdir(".."))
	must(unix.Unlink("moved"))
	use("moved", unix.O_CREAT|unix.O_WRONLY, 0o600)
	must(unix.Unlink("moved"))
	must(unix.Mknod("fifo", unix.S_IFIFO|0o600, 0))
	use("fifo", unix.O_RDWR, 0)

	sub := open("sub", unix.O_PATH, 0)
	fd, err := unix.Openat(sub, "file", unix.O_CREAT|unix.O_RDWR, 0o600)
	must(err)
	must(unix.Fchmod(fd, 0o644))
	must(unix.Fchown(fd, -1, -1))
	must(unix.Ftruncate(fd, 4096))
	for range 2 {
		b, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		must(err)
		must(unix.Munmap(b))
	}
	b, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	must(err)
	must(unix.Munmap(b))
	b, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	must(err)
	must(unix.Munmap(b))
	must(unix.Chmod("way/file", 0o600))
	must(unix.Lchown("link", os.Getuid(), -1))
	must(unix.Truncate("way/file", 1))
	must(unix.Unlinkat(sub, "file", 0))

	if fd, err = unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o600); err == nil {
		must(unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, "named", unix.AT_SYMLINK_FOLLOW))
	} else {
		fmt.Println("no O_TMPFILE")
	}
	_, err = unix.MemfdCreate("trace-files", unix.MFD_CLOEXEC)
	must(err)

	for range 14 {
		unix.Open("absent", unix.O_RDONLY, 0)
	}
	unix.Open("new/x", unix.O_RDONLY, 0)
	unix.Open("sub", unix.O_WRONLY, 0)
	unix.Mkdir("sub", 0o700)
	unix.Rename("absent", "nothing")
	unix.Exec("./absent", []string{"absent"}, nil)
	unix.Exec("./new", []string{"new"}, nil)
	unix.Open(dir+"/absent", unix.O_PATH, 0)

	use("a\n\xff\x1b[31m", unix.O_CREAT|unix.O_WRONLY, 0o600)
	deep := deepName(len(dir))
	for i, c := range deep {
		if c == '/' {
			must(unix.Mkdir(deep[:i], 0o700))
		}
	}
	use(dir+"/"+deep, unix.O_CREAT|unix.O_WRONLY, 0o600)
	use("."+strings.Repeat("/", unix.PathMax-1-4)+"new", unix.O_RDWR, 0)

	must(unix.Mkdir("gone", 0o700))
	must(unix.Chdir("gone"))
	must(unix.Rmdir("../gone"))
	unix.Open("x", unix.O_CREAT|unix.O_WRONLY, 0o600)
}

// settle follows a symbolic link until the kernel no longer notes the time of that: a look-up that must not wait
// does not follow it before.
func settle(link string) {
	for {
		var before, after unix.Stat_t
		unix.Lstat(link, &before)
		unix.Stat(link, &after)
		if unix.Lstat(link, &after); after.Atim.Nano() == before.Atim.Nano() && before.Atim.Nano() > before.Ctim.Nano() {
			return
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
}

// file is what a test compares of an event file.access.
type file struct {
	PID         int
	Event, Kind string
	Modes       []string
	Error, Perm int
	Count       int64
	Inode       uint64
	File, To    string
	Canonical   string
	Bytes       *int64
}

// recordedFiles runs a command with -e files in a directory, and returns the events of paths in the directory.
func recordedFiles(t *testing.T, dir string, options []string, command ...string) (list []file, out string) {
	t.Helper()
	traces := filepath.Join(t.TempDir(), "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(traces, "x.trace")
	argv := slices.Concat([]string{"ptrace-run", "--dump=never", "-o", log}, options, []string{"--"}, command)
	out = traceCommand(t, dir, traces, nil, argv...).String()
	if lost := traceCommand(t, dir, traces, nil, "ptrace-dump", "--status", "--json", log); !lostNone.MatchString(lost.String()) {
		t.Errorf("events were lost: %s", lost)
	}
	for _, f := range filesOf(t, traces, log) {
		if strings.HasPrefix(f.File, dir) || strings.HasPrefix(f.To, dir) || strings.HasPrefix(f.Canonical, dir) || strings.HasPrefix(f.File, "/memfd:") {
			list = append(list, f)
		}
	}
	return list, out
}

// filesOf returns the events in a log.
func filesOf(t *testing.T, traces, log string) (list []file) {
	t.Helper()
	for line := range strings.Lines(traceCommand(t, traces, traces, nil, "ptrace-dump", "-j", "-e", "files", log).String()) {
		var f file
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, f)
	}
	return list
}

// in shows an event with paths relative to dir.
func (f *file) in(dir string) string {
	s := f.Kind
	if len(f.Modes) > 0 {
		s += " " + strings.Join(f.Modes, ",")
	}
	if f.Error != 0 {
		s += " " + unix.ErrnoName(unix.Errno(f.Error))
	}
	if f.Count != 0 {
		s += fmt.Sprintf(" %d times", f.Count)
	}
	if f.Perm != 0 {
		s += fmt.Sprintf(" %o", f.Perm)
	}
	short := func(path string) string {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			path = rest
		} else if path == dir {
			path = "."
		}
		if len(path) > 1000 {
			path = fmt.Sprintf("%.3s... %d", path, len(path)+len(dir)+1)
		}
		return path
	}
	s += " " + short(f.File)
	if f.To != "" {
		s += " -> " + short(f.To)
	}
	if f.Canonical != "" {
		s += " = " + short(f.Canonical)
	}
	return s
}

// realDir returns a new directory by its canonical path.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

const filesWanted = `open write,create 640 new
open write,cut new
open read new
open read,write,append new
open path new
open read,directory .
open read,write,create 600 exclusive
symlink new -> link
open read link = new
link new -> hard
rename hard -> moved
rename moved -> new
rename new -> moved
mkdir 750 sub
symlink sub -> way
mkdir 700 way/inner = sub/inner
rmdir way/inner = sub/inner
open read sub/../moved = moved
unlink moved
open write,create 600 moved
unlink moved
open create,special 10600 fifo
open read,write,special fifo
open directory,path sub
open read,write,create 600 sub/file
chmod 644 sub/file
chown sub/file
truncate write sub/file
map read,write sub/file
chmod 600 way/file = sub/file
chown link
truncate write way/file = sub/file
unlink sub/file
open read,write,unnamed . = #N (deleted)
link unnamed /proc/PID/fd/N -> named = #N (deleted)
open read,write,create,unnamed /memfd:trace-files (deleted)
open write EISDIR sub
mkdir EEXIST 700 sub
rename ENOENT absent -> nothing
exec EACCES new
open write,create 600 a\n\xff\x1b[31m
mkdir 700 ddd... 
open write,create 600 ddd... 4095
open read,write new
mkdir 700 gone
rmdir gone/../gone
missing ENOENT 16 times absent
missing ENOENT 1 times gone (deleted)/x
missing ENOTDIR 1 times new/x
`

// -e files records each use of a file once, with the path by which the program named it, made absolute, and its canonical path.
func TestFiles(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	for _, options := range [][]string{{"-e", "files"}, {"-e", "files,proc,syscall.openat"}, {"-e", "files,syscall"}} {
		dir := realDir(t)
		list, out := recordedFiles(t, dir, options, "trace-files")
		var got, want []string
		closed := map[string]bool{}
		for i := range list {
			f := &list[i]
			if f.Kind == "close" {
				closed[f.in(dir)] = true
				if f.Bytes != nil || f.Inode == 0 {
					t.Errorf("%+v", f)
				}
				continue
			}
			got = append(got, f.in(dir))
			if f.Inode == 0 && (f.Kind == "open" && f.Error == 0 && !slices.Contains(f.Modes, "create") || f.Kind == "map" || f.Kind == "chmod") {
				t.Errorf("no inode: %+v", f)
			}
		}
		text := normalFiles(strings.Join(got, "\n") + "\n")
		for line := range strings.Lines(filesWanted) {
			if out == "no O_TMPFILE\n" && strings.Contains(line, "#N") {
				continue
			}
			want = append(want, strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n"), `\xff\x1b`, "\ufffd\x1b"))
		}
		compareLines(t, strings.Join(options, " "), text, strings.Join(want, "\n")+"\n")
		for _, name := range []string{"new", "exclusive", "sub/file", "moved"} {
			if !closed["close write "+name] {
				t.Errorf("%s was written and is not closed: %v", name, closed)
			}
		}
	}
}

// compareLines reports the lines that differ.
func compareLines(t *testing.T, name, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	have, wanted := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(have), len(wanted)) {
		if i >= len(have) || i >= len(wanted) || have[i] != wanted[i] {
			t.Fatalf("%s: line %d differs:\n%s\nwant\n%s", name, i+1, strings.Join(have[min(i, len(have)):], "\n"), strings.Join(wanted[min(i, len(wanted)):], "\n"))
		}
	}
}

// normalFiles replaces numbers that vary, and joins the directories of a long path.
func normalFiles(text string) string {
	var b strings.Builder
	last := ""
	for line := range strings.Lines(text) {
		line = processNumber.ReplaceAllString(inodeNumber.ReplaceAllString(line, "#N"), "/proc/PID/fd/N")
		if strings.HasPrefix(line, "mkdir 700 ddd") {
			line = "mkdir 700 ddd... \n"
		}
		if line != last {
			b.WriteString(line)
		}
		last = line
	}
	return b.String()
}

var (
	inodeNumber   = regexp.MustCompile(`#[0-9]+`)
	processNumber = regexp.MustCompile(`/proc/[0-9]+/fd/[0-9]+`)
)

// Each rename of a storm is recorded, and look-ups of many missing files.
func TestFilesStorm(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir := realDir(t)
	list, _ := recordedFiles(t, dir, []string{"-e", "files"}, "trace-files", "storm")
	names := map[string]int{}
	for i := range list {
		names[list[i].in(dir)]++
	}
	for name, n := range map[string]int{
		"rename a -> b": 1000, "rename b -> a": 1000, "rename directory dir -> other": 1, "rename directory other -> dir": 1,
		"open read dir/x": 5, "open write,create 600 dir/x": 4, "unlink dir/x": 3,
	} {
		if names[name] != n {
			t.Errorf("%d times %s, want %d", names[name], name, n)
		}
	}
	list, _ = recordedFiles(t, dir, []string{"-e", "files"}, "trace-files", "many")
	n := 0
	for i := range list {
		if f := &list[i]; f.Kind == "missing" && f.Count == 1 && strings.HasPrefix(filepath.Base(f.File), "absent") {
			n++
		}
	}
	if n != 3000 {
		t.Errorf("%d of 3000 missing files", n)
	}
}

// The paths of a process with another root directory begin at that of the tracer.
func TestFilesInRoot(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedRoot(t)
	dir := realDir(t)
	list, _ := recordedFiles(t, dir, []string{"-e", "files"}, "trace-files", "chroot")
	var got strings.Builder
	for i := range list {
		fmt.Fprintln(&got, list[i].in(dir))
	}
	compareLines(t, "chroot", got.String(), `mkdir 700 jail
mkdir 700 jail/in
open write,create 600 jail/f
symlink /in -> jail/l
open write,create 600 jail/l/g = jail/in/g
rename jail/l/g -> jail/in/h = jail/in/g
close write jail/f
close write jail/l/g = jail/in/g
`)
}

// A tracer of a process that runs already records the same, also by the directory that it had before, and of
// its children.
func TestFilesAttached(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir := realDir(t)
	traces := filepath.Join(t.TempDir(), "traces")
	for _, d := range []string{traces, filepath.Join(dir, "sub")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	defer reap(t, "PTRACE_DIR="+traces)
	cmd := exec.Command("sh", "-c", "cd sub; read x; : >a; cat a ../none; mv a b; :")
	cmd.Dir = dir
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	log := filepath.Join(traces, "x.trace")
	const old = "not a log"
	if err := os.WriteFile(log, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	tracer := exec.Command("ptrace-run", "-p", strconv.Itoa(cmd.Process.Pid), "-e", "files", "-o", log)
	tracer.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	tracer.Stderr = os.Stderr
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	defer tracer.Process.Kill()
	tracetest.Wait(t, "the tracer attaches", func() bool {
		b, err := os.ReadFile(log) // it is replaced when the tracer has attached
		return err == nil && string(b) != old
	})
	if _, err := input.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err := tracer.Wait(); err != nil {
		t.Error(err)
	}
	var got []string
	for _, f := range filesOf(t, traces, log) {
		if strings.HasPrefix(f.File, dir) {
			got = append(got, f.in(dir))
		}
	}
	slices.Sort(got)
	compareLines(t, "attached", strings.Join(got, "\n")+"\n", "close write sub/a\nmissing ENOENT 1 times sub/../none\nopen read sub/a\nopen write,create,cut 666 sub/a\nrename sub/a -> sub/b\n")
}

// The threads of a process are one, also when it executes another program, and a child is another process.
func TestFilesOfThreads(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	list, _ := recordedFiles(t, realDir(t), []string{"-e", "files"}, "trace-files", "threads")
	opened := map[int]int{}
	first := 0
	for _, f := range list {
		if f.Kind != "open" {
			continue
		}
		if slices.Contains(f.Modes, "create") {
			first = f.PID
			continue
		}
		opened[f.PID]++
	}
	if len(opened) != 3 || opened[first] != 1 {
		t.Errorf("processes have opened the file %v times, the first is %d", opened, first)
	}
	for pid, n := range opened {
		if n != 1 {
			t.Errorf("%d events of process %d", n, pid)
		}
	}
}
