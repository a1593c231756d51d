package redact

import (
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// call returns a record of a system call, as a log has it.
func call(args ...posixtrace.SyscallArg) *posixtrace.Record {
	d := posixtrace.SyscallData{Returned: true, Result: 6, Args: args}
	rec := &posixtrace.Record{Data: d.Append(nil)}
	rec.ID = posixtrace.EventID(3584) // a registered system type
	return rec
}

// What a log has of the bytes that calls have moved is left out, whole, also where nothing matches; their
// lengths stay, and so do names.
func TestFilterMoved(t *testing.T) {
	text := func(s string) posixtrace.SyscallArg {
		a := posixtrace.SyscallArg{Value: []byte(s), String: true}
		if head, ok := strings.CutSuffix(s, "..."); ok {
			a.Value, a.Cut = []byte(head), true
		}
		return a
	}
	value := func(s string) posixtrace.SyscallArg { return posixtrace.SyscallArg{Value: []byte(s)} }
	fd := value("3</tmp/secret>")
	for _, tt := range []struct {
		call string
		arg  posixtrace.SyscallArg
		want string
	}{
		{"read", text("secret"), "***"},
		{"write", text("secret..."), "***"},
		{"write", text(""), ""},
		{"read", value("0x7ffe12"), "0x7ffe12"},
		{"writev", value(`[{"secret", 6}, {"", 0}, {"se\"cr\\et"..., 80}, {NULL, 0}, {0x12, 4}]`), `[{"***", 6}, {"", 0}, {"***", 80}, {NULL, 0}, {0x12, 4}]`},
		{"readv", value(`[{"secret", 6}, ...]`), `[{"***", 6}, ...]`},
		{"readv", value(`[]`), `[]`},
		{"sendmsg", value(`{name=AF_UNIX:/run/x iov=[{"secret", 6}] control=12 flags=MSG_EOR|0x4}`), `{name=AF_UNIX:/run/x iov=[{"***", 6}] control=12 flags=MSG_EOR|0x4}`},
		{"recvmsg", value(`{iov=[{"secret", 6}]}`), `{iov=[{"***", 6}]}`},
		{"sendmmsg", value(`[{iov=[{"secret", 6}]}, {iov=[{"secret", 6}]}, ...]`), `[{iov=[{"***", 6}]}, {iov=[{"***", 6}]}, ...]`},
		// What is not as the tracer writes it, or was cut, is left out whole.
		{"sendmsg", value(`{name=AF_UNIX:@a"b iov=[{"secret", 6}]}`), Mark},
		{"sendmsg", value(`{name=AF_UNIX:@ iov=[{"x iov=[{"secret", 6}]}`), Mark},
		{"writev", value(`[{"secret", 6}, {"secr`), Mark},
		{"writev", value("[{\"sec\nret\", 6}]"), `[{"***", 6}]`},
		{"openat", text("secret"), "secret"},
		{"getxattr", text("user.secret"), "user.secret"},
		{"prctl", text("secret"), "secret"},
	} {
		for _, keep := range []bool{false, true} {
			given := []string{"none-such"}
			if keep {
				given = append(given, KeepData)
			}
			f := mustNew(t, given...).NewFilter(func(posixtrace.EventID) string { return "syscall." + tt.call })
			rec := call(fd, tt.arg, value("6"))
			f.Record(rec)
			d, err := posixtrace.DecodeSyscall(rec.Data)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if keep {
				want = string(tt.arg.Value)
			}
			if got := string(d.Args[1].Value); got != want || string(d.Args[0].Value) != string(fd.Value) || string(d.Args[2].Value) != "6" || d.Result != 6 {
				t.Errorf("%s, kept %v: %s becomes %s, want %s", tt.call, keep, tt.arg.Value, got, want)
			}
			if f.Count != 0 {
				t.Errorf("%s: %d matches", tt.call, f.Count)
			}
		}
	}
	f := mustNew(t, "none-such").NewFilter(func(posixtrace.EventID) string { return "syscall.getrandom" })
	rec := call(text("secret"), value("6"))
	f.Record(rec)
	if d, err := posixtrace.DecodeSyscall(rec.Data); err != nil || string(d.Args[0].Value) != Mark {
		t.Errorf("getrandom: %v %v", d, err)
	}
}

// A quote in a path begins no text in quotes, and a pattern that matches a part does not hide another's match.
func TestCallQuotes(t *testing.T) {
	set := mustNew(t, `hunter"[0-9]{4}`, "hunt[a-z]+", `a\\"b`)
	for value, want := range map[string]string{
		`11</tmp/hunter"1234/hunter"1234>`:         `11</tmp/***/***>`,
		`["x", "hunter\"1234 y", "hunter\"12"...]`: `["x", "*** y", "***"...]`,
		`[fd=3</hunter"1234>, "a\\\"b", "b"]`:      `[fd=3</***>, "***", "b"]`,
	} {
		d := &posixtrace.SyscallData{Args: []posixtrace.SyscallArg{{Value: []byte(value)}}}
		if set.Call(d); string(d.Args[0].Value) != want {
			t.Errorf("%s becomes %s, want %s", value, d.Args[0].Value, want)
		}
	}
}

// Where there is no room for another open match, nothing of it is shown.
func TestFilterFull(t *testing.T) {
	f := mustNew(t, "hunter[0-9]{4}").NewFilter(func(posixtrace.EventID) string { return "" })
	for i, text := range []string{"a hunt", "er1234 b"} {
		for pid := range 2 * maxOutputs {
			var rec posixtrace.Record
			rec.ID, rec.PID = posixtrace.EventOutputStdout, pid+1
			d := posixtrace.OutputData{Line: []byte(text), Continues: i == 0}
			rec.Data = d.Append(nil)
			f.Record(&rec)
			if got := string(rec.Data); strings.Contains(got, "hunt") || strings.Contains(got, "er1") {
				t.Fatalf("output of %d: %q", pid+1, got)
			}
		}
	}
}

// A secret is in no text of what a thread does: neither in an argument, nor in the bytes that its call moves.
func TestFilterHang(t *testing.T) {
	for _, tt := range []struct {
		d    posixtrace.HangData
		cut  bool
		find string
		keep bool // the text is not a secret
	}{
		{d: posixtrace.HangData{Program: "hunter2x"}},
		{d: posixtrace.HangData{Args: []string{"curl", "--user", "me:hunter2", "x"}}},
		{d: posixtrace.HangData{Call: `openat(AT_FDCWD, "/hunter2")`}},
		{d: posixtrace.HangData{Wait: "hunter2"}},
		{d: posixtrace.HangData{For: "the writer of pipe:[1], curl -u hunter2 (pid 7)"}},
		{d: posixtrace.HangData{Note: "hunter2"}},
		{d: posixtrace.HangData{Stack: []string{"main", "hunter2"}}},
		{d: posixtrace.HangData{Args: []string{"curl", "hunt"}}, cut: true, find: "hunt"},
		{d: posixtrace.HangData{Call: `write(1, "other", 5)`}, find: "other"},
		{d: posixtrace.HangData{Call: `writev(1, [{"other", 5}, {"more", 4}], 2)`}, find: "ther"},
		{d: posixtrace.HangData{Call: `openat(AT_FDCWD, "/other")`}, find: "other", keep: true},
	} {
		f := mustNew(t, "hunter2").NewFilter(func(posixtrace.EventID) string { return "" })
		rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventHangThread}, Data: tt.d.Append(nil)}
		if tt.cut {
			rec.Truncation = posixtrace.TruncationRecord
			rec.Data = rec.Data[:len(rec.Data)-3] // with the length of the stack, and the NUL
		}
		f.Record(rec)
		if tt.find == "" {
			tt.find = "hunter2"
		}
		if strings.Contains(string(rec.Data), tt.find) != tt.keep {
			t.Errorf("%+v becomes %q", tt.d, rec.Data)
		}
		d, err := posixtrace.DecodeHang(rec.Data)
		if err != nil || len(d.Args) != len(tt.d.Args) || len(d.Stack) != len(tt.d.Stack) {
			t.Errorf("%+v becomes %+v, %v", tt.d, d, err)
		}
	}
}
