package output

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// straceCalls are the names of the event types in these tests. All arguments of a call but those
// of wait4 and read are known when it begins.
var straceNames = map[posixtrace.EventID]string{
	3600: "syscall.openat", 3601: "syscall.read", 3602: "syscall.wait4", 3603: "syscall.mmap", 3604: "syscall.fcntl", 3605: "syscall.umask",
	3606: "syscall.vfork", 3607: "syscall.execve", 3608: "syscall.x y", posixtrace.EventProcFork: "proc.fork", posixtrace.EventProcExec: "proc.exec",
	posixtrace.EventProcExit: "proc.exit", posixtrace.EventProcSignal: "proc.signal", 200: "build.begin",
}

func straceShape(call string) CallShape {
	switch call {
	case "openat":
		return CallShape{Entered: 3, Paths: 1 << 1}
	case "execve":
		return CallShape{Entered: 2, Paths: 1}
	case "read", "wait4":
		return CallShape{Entered: 1}
	}
	return CallShape{Entered: 6}
}

// straceRec is an event at a time in microseconds.
func straceRec(id posixtrace.EventID, tid int, at int64, data []byte) *posixtrace.Record {
	return &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: tid, TID: tid, UnixNano: at * 1000}, Data: data}
}

func arg(s string) posixtrace.SyscallArg { return posixtrace.SyscallArg{Value: []byte(s)} }

func str(s string) posixtrace.SyscallArg {
	return posixtrace.SyscallArg{Value: []byte(s), String: true}
}

// returned is the data of a call that took some microseconds.
func returned(us, result int64, args ...posixtrace.SyscallArg) []byte {
	d := posixtrace.SyscallData{Returned: true, Result: result, Duration: time.Duration(us) * time.Microsecond, Args: args}
	return d.Append(nil)
}

func writeStrace(style TimeStyle, size int, recs ...*posixtrace.Record) string {
	form := &Strace{StraceLines: StraceLines{Text: &Text{Style: style}, StringSize: size, Shape: straceShape}}
	src := NewSource(func(id posixtrace.EventID) string { return straceNames[id] })
	b := form.Begin(nil)
	for _, rec := range recs {
		b = form.Append(b, src, rec)
	}
	return string(form.End(b))
}

func TestStraceLine(t *testing.T) {
	long := strings.Repeat("a", 40)
	failed := posixtrace.SyscallData{Returned: true, Result: -1, Errno: 2, Duration: 12 * time.Microsecond, Args: []posixtrace.SyscallArg{arg("AT_FDCWD"), str("x"), arg("O_RDONLY")}}
	restarted := posixtrace.SyscallData{Restarted: 512, Args: []posixtrace.SyscallArg{arg("3")}}
	never := posixtrace.SyscallData{Args: []posixtrace.SyscallArg{arg("0")}}
	cut := posixtrace.SyscallData{Returned: true, Args: []posixtrace.SyscallArg{arg("3"), {Value: []byte("ab"), String: true, Cut: true}, arg("9")}}
	signal := posixtrace.SignalData{Signal: 17, Code: 1, Sender: 8, UID: 1000}
	fault := posixtrace.SignalData{Signal: 11, Code: 2}
	odd := posixtrace.SignalData{Signal: 99, Code: 77}
	ended := posixtrace.ExitData{Status: 3}
	killed := posixtrace.ExitData{Signal: 11, CoreDumped: true}
	for _, tt := range []struct {
		name string
		id   posixtrace.EventID
		data []byte
		want string
	}{
		{"error", 3600, failed.Append(nil), `openat(AT_FDCWD, "x", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000012>`},
		{"long path", 3600, returned(1, 3, arg("AT_FDCWD"), str(long), arg("0")), `openat(AT_FDCWD, "` + long + `", 0) = 3 <0.000001>`},
		{"long data", 3601, returned(1_500_000, 40, arg("3"), str(long), arg("40")), `read(3, "` + long[:32] + `"..., 40) = 40 <1.500000>`},
		{"data cut when recorded", 3601, cut.Append(nil), `read(3, "ab"..., 9) = 0 <0.000000>`},
		{"bytes", 3601, returned(0, 9, arg("3"), str("\x7fEL\x00\x001\n\"\\\xff\x1b[é"), arg("9")), `read(3, "\177EL\0\0001\n\"\\\377\33[é", 9) = 9 <0.000000>`},
		{"strings in an array", 3607, returned(0, 0, str("/bin/"+long), arg(`["`+long+`", "a\"b\\", "c"...]`)),
			`execve("/bin/` + long + `", ["` + long[:32] + `"..., "a\"b\\", "c"...]) = 0 <0.000000>`},
		{"a string without an end", 3607, returned(0, 0, str("x"), arg("[\"ab\x1b")), `execve("x", ["ab\x1b) = 0 <0.000000>`},
		{"address", 3603, returned(0, 4096), `mmap() = 0x1000 <0.000000>`},
		{"flags", 3604, returned(0, 1, arg("3"), arg("F_GETFD")), `fcntl(3, F_GETFD) = 0x1 <0.000000>`},
		{"descriptor", 3604, returned(0, 10, arg("3"), arg("F_DUPFD"), arg("10")), `fcntl(3, F_DUPFD, 10) = 10 <0.000000>`},
		{"mode", 3605, returned(0, 0o22, arg("077")), `umask(077) = 022 <0.000000>`},
		{"restarted", 3601, restarted.Append(nil), `read(3) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)`},
		{"no return", 3601, never.Append(nil), `read(0) = ?`},
		{"malformed", 3601, []byte{255}, `syscall.read "\xff"`},
		{"odd name", 3608, returned(0, 0), `x\x20y() = 0 <0.000000>`},
		{"signal", posixtrace.EventProcSignal, signal.Append(nil), `--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=8, si_uid=1000} ---`},
		{"fault", posixtrace.EventProcSignal, fault.Append(nil), `--- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_ACCERR} ---`},
		{"unknown signal", posixtrace.EventProcSignal, odd.Append(nil), `--- 99 {si_signo=99, si_code=77} ---`},
		{"end", posixtrace.EventProcExit, ended.Append(nil), `+++ exited with 3 +++`},
		{"killed", posixtrace.EventProcExit, killed.Append(nil), `+++ killed by SIGSEGV (core dumped) +++`},
		{"user event", 200, []byte("a\tb"), `build.begin "a\tb"`},
	} {
		if got := writeStrace(NoTime, 32, straceRec(tt.id, 7, 0, tt.data)); got != "7 "+tt.want+"\n" {
			t.Errorf("%s:\n%swant\n7 %s", tt.name, got, tt.want)
		}
	}
}

// Calls are written where they begin. A call with an event of another thread in it has two lines.
func TestStraceOrder(t *testing.T) {
	fork := posixtrace.ForkData{Child: 8, Kind: posixtrace.ForkVfork}
	exec := posixtrace.ExecData{Path: "/bin/x", Argv: []string{"x"}}
	read := func(tid int, at, us int64) *posixtrace.Record {
		return straceRec(3601, tid, at, returned(us, 1, arg("3"), str("x"), arg("1")))
	}
	const whole = `read(3, "x", 1) = 1`
	for _, tt := range []struct {
		name string
		recs []*posixtrace.Record
		want string
	}{
		{"one after the other", []*posixtrace.Record{read(1, 10, 5), read(2, 20, 5)}, "1 " + whole + " <0.000005>\n2 " + whole + " <0.000005>\n"},
		{"another call begins", []*posixtrace.Record{read(1, 10, 5), read(2, 12, 5)},
			"1 read(3,  <unfinished ...>\n2 read(3,  <unfinished ...>\n1 <... read resumed>\"x\", 1) = 1 <0.000005>\n2 <... read resumed>\"x\", 1) = 1 <0.000005>\n"},
		{"a call in a call", []*posixtrace.Record{read(2, 5, 1), straceRec(3602, 1, 10, returned(9, 2, arg("-1"), arg("{status=0}"), arg("0")))},
			"1 wait4(-1,  <unfinished ...>\n2 " + whole + " <0.000001>\n1 <... wait4 resumed>{status=0}, 0) = 2 <0.000009>\n"},
		{"all arguments known", []*posixtrace.Record{read(2, 5, 1), straceRec(3604, 1, 10, returned(9, 0, arg("3")))},
			"1 fcntl(3 <unfinished ...>\n2 " + whole + " <0.000001>\n1 <... fcntl resumed>) = 0 <0.000009>\n"},
		{"the events of the thread in its call", []*posixtrace.Record{straceRec(posixtrace.EventProcFork, 1, 4, fork.Append(nil)), straceRec(3606, 1, 5, returned(3, 8)),
			straceRec(posixtrace.EventProcExec, 8, 9, exec.Append(nil)), straceRec(3607, 8, 10, returned(2, 0, str("x")))},
			"1 vfork() = 8 <0.000003>\n8 execve(\"x\") = 0 <0.000002>\n"},
		{"the same events in a split call", []*posixtrace.Record{straceRec(posixtrace.EventProcFork, 1, 4, fork.Append(nil)), read(8, 6, 1), straceRec(3606, 1, 7, returned(5, 8))},
			"1 vfork( <unfinished ...>\n8 " + whole + " <0.000001>\n1 <... vfork resumed>) = 8 <0.000005>\n"},
		{"the same events without their call", []*posixtrace.Record{straceRec(posixtrace.EventProcFork, 1, 4, fork.Append(nil)), straceRec(posixtrace.EventProcExec, 8, 9, exec.Append(nil))},
			"1 proc.fork child=8 kind=vfork\n8 proc.exec \"/bin/x\"\n"},
		{"at the same time", []*posixtrace.Record{read(1, 10, 0), read(2, 10, 0)}, "1 " + whole + " <0.000000>\n2 " + whole + " <0.000000>\n"},
	} {
		if got := writeStrace(NoTime, 32, tt.recs...); got != tt.want {
			t.Errorf("%s:\n%swant\n%s", tt.name, got, tt.want)
		}
	}
	want := "1 0.000005 read(3,  <unfinished ...>\n2 0.000007 read(3,  <unfinished ...>\n1 0.000010 <... read resumed>\"x\", 1) = 1 <0.000005>\n2 0.000012 <... read resumed>\"x\", 1) = 1 <0.000005>\n"
	if got := strings.ReplaceAll(writeStrace(RelativeTime, 32, read(1, 10, 5), read(2, 12, 5)), "000 ", " "); got != want {
		t.Errorf("with times:\n%swant\n%s", got, want)
	}
}

// More events than are kept back: each is written once, in order. A call that began before those
// that had to be written has one line, where it returned.
func TestStraceBounded(t *testing.T) {
	const n = 3 * straceEvents
	var recs []*posixtrace.Record
	for i := range int64(n) {
		recs = append(recs, straceRec(3601, 1+int(i%2), 10+2*i, returned(3, i, arg("3"))))
	}
	recs = append(recs, straceRec(3602, 9, 10+2*n, returned(2*n, 7, arg("-1"))))
	got := strings.Split(writeStrace(NoTime, 32, recs...), "\n")
	if len(got) != 2*n+2 {
		t.Fatalf("%d lines, want %d", len(got), 2*n+2)
	}
	next := 0
	for _, line := range got[:2*n] {
		if strings.Contains(line, "resumed") {
			if want := fmt.Sprintf("%d <... read resumed>) = %d <0.000003>", 1+next%2, next); line != want {
				t.Fatalf("%s, want %s", line, want)
			}
			next++
		}
	}
	if want := "9 wait4(-1) = 7 <0." + fmt.Sprintf("%06d", 2*n) + ">"; next != n || got[2*n] != want {
		t.Errorf("%d calls have returned, the last line is %s, want %d, %s", next, got[2*n], n, want)
	}
}

// A call that a thread waits in has its first line before its event. The part of a call that
// comes before the call waits for it, once.
func TestStraceFlush(t *testing.T) {
	form := &Strace{StraceLines: StraceLines{Text: &Text{Style: NoTime}, StringSize: 32, Shape: straceShape}}
	src := NewSource(func(id posixtrace.EventID) string { return straceNames[id] })
	fork := posixtrace.ForkData{Child: 8}
	forked := func(at int64) *posixtrace.Record {
		return straceRec(posixtrace.EventProcFork, 1, at, fork.Append(nil))
	}
	read := straceRec(3601, 1, 5, returned(5, 1, arg("3"), str("x"), arg("1")))
	for i, step := range []struct {
		rec  *posixtrace.Record
		want string
	}{
		{read, "1 <... read resumed>\"x\", 1) = 1 <0.000005>\n"},
		{straceRec(3601, 1, 15, returned(5, 1, arg("3"))), "1 read(3) = 1 <0.000005>\n"},
		{forked(20), ""},
		{straceRec(3606, 1, 21, returned(3, 8)), "1 vfork() = 8 <0.000003>\n"},
		{forked(30), ""},
		{nil, "1 proc.fork child=8 kind=fork\n"},
		{nil, ""},
	} {
		var b []byte
		if i == 0 {
			b = form.AppendEntered(b, 1, "read", []posixtrace.SyscallArg{arg("3")}, true)
			if want := "1 read(3,  <unfinished ...>\n"; string(b) != want {
				t.Errorf("entered: %q, want %q", b, want)
			}
			b = nil
		}
		if step.rec != nil {
			b = form.Append(b, src, step.rec)
		}
		if b = form.Flush(b); string(b) != step.want {
			t.Errorf("step %d: %q, want %q", i, b, step.want)
		}
	}
	if b := form.End(form.Append(nil, src, forked(40))); string(b) != "1 proc.fork child=8 kind=fork\n" {
		t.Errorf("end: %q", b)
	}
	// Another call than the one that was shown, whose event is missing.
	b := form.AppendEntered(nil, 1, "read", nil, false)
	b = form.Flush(form.Append(b, src, straceRec(3605, 1, 60, returned(1, 0))))
	if want := "1 read( <unfinished ...>\n1 umask() = 0 <0.000001>\n"; string(b) != want {
		t.Errorf("another call: %q, want %q", b, want)
	}
}

// While a fork waits for its call, the events of its child wait, too: each of them once, however
// many forks there are.
func TestStraceFlushChild(t *testing.T) {
	src := NewSource(func(id posixtrace.EventID) string { return straceNames[id] })
	open := func(tid int, at int64) *posixtrace.Record {
		return straceRec(3600, tid, at, returned(1, 3, str("x")))
	}
	forked := func(tid, child int, at int64) *posixtrace.Record {
		d := posixtrace.ForkData{Child: child}
		return straceRec(posixtrace.EventProcFork, tid, at, d.Append(nil))
	}
	const lines = "1 proc.fork child=2 kind=fork\n2 openat(\"x\") = 3 <0.000001>\n"
	var many []*posixtrace.Record
	manyLines := ""
	for i := range 100 {
		many = append(many, forked(i+1, i+2, int64(10*i)))
		manyLines += fmt.Sprintf("%d proc.fork child=%d kind=fork\n", i+1, i+2)
	}
	for _, tt := range []struct {
		name  string
		steps [][]*posixtrace.Record
		want  []string
	}{
		{"without the call", [][]*posixtrace.Record{{forked(1, 2, 10), open(2, 20)}, nil}, []string{"", lines}},
		{"the child goes on", [][]*posixtrace.Record{{forked(1, 2, 10)}, {open(2, 20)}}, []string{"", lines}},
		{"the call comes", [][]*posixtrace.Record{{forked(1, 2, 10), open(2, 20)}, {straceRec(3606, 1, 30, returned(25, 2))}},
			[]string{"", "1 vfork( <unfinished ...>\n2 openat(\"x\") = 3 <0.000001>\n1 <... vfork resumed>) = 2 <0.000025>\n"}},
		{"its beginning is in the past", [][]*posixtrace.Record{{open(9, 9), forked(1, 2, 10), open(2, 20)}, {straceRec(3606, 1, 30, returned(25, 2))}},
			[]string{"9 openat(\"x\") = 3 <0.000001>\n", lines + "1 vfork() = 2 <0.000025>\n"}},
		{"what was before", [][]*posixtrace.Record{{open(2, 5), forked(1, 2, 10)}, nil}, []string{"2 openat(\"x\") = 3 <0.000001>\n", "1 proc.fork child=2 kind=fork\n"}},
		{"many", [][]*posixtrace.Record{many, nil}, []string{"", manyLines}},
		{"one after the other", [][]*posixtrace.Record{{forked(1, 2, 10)}, {open(2, 20), forked(2, 3, 30)}, {open(3, 40)}},
			[]string{"", lines, "2 proc.fork child=3 kind=fork\n3 openat(\"x\") = 3 <0.000001>\n"}},
	} {
		form := &Strace{StraceLines: StraceLines{Text: &Text{Style: NoTime}, StringSize: 32, Shape: straceShape}}
		for i, recs := range tt.steps {
			var b []byte
			for _, rec := range recs {
				b = form.Append(b, src, rec)
			}
			if b = form.Flush(b); string(b) != tt.want[i] {
				t.Errorf("%s, step %d:\n%swant\n%s", tt.name, i, b, tt.want[i])
			}
		}
	}
}

func FuzzStraceArgs(f *testing.F) {
	f.Add([]byte(`["a", "b\""...]`), 3)
	f.Add([]byte(`"`), 0)
	f.Fuzz(func(t *testing.T, value []byte, size int) {
		l := &StraceLines{Text: &Text{Style: NoTime}, StringSize: max(0, size)}
		b := l.appendParts(nil, value)
		if len(b) > 4*len(value)+3*len(value)+8 {
			t.Errorf("%q becomes %q", value, b)
		}
	})
}
