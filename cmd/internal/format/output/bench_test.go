package output

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// benchEvents are the kinds of events that logs are full of.
var benchEvents = []struct {
	name string
	id   posixtrace.EventID
	data []byte
}{
	{"user", 33, []byte("0123456789abcdef")},
	{"line", posixtrace.EventOutputStdout, line("[ 1234/100000] CC   pkg/module7/file_1234.c -O2 -Wall -o build/1234.o")},
	{"colours", posixtrace.EventOutputStdout, line("\x1b[1mfile_17.c:12:9: \x1b[35mwarning: \x1b[0munused variable ‘x’ [\x1b[35m-Wunused-variable\x1b[0m]")},
	{"syscall", 4000, (&posixtrace.SyscallData{Args: []posixtrace.SyscallArg{
		{Value: []byte("AT_FDCWD")}, {Value: []byte("/etc/ld.so.cache"), String: true}, {Value: []byte("O_RDONLY|O_CLOEXEC")},
	}, Returned: true, Result: 3, Duration: 2500}).Append(nil)},
	{"fork", posixtrace.EventProcFork, (&posixtrace.ForkData{Child: 4712}).Append(nil)},
	{"exit", posixtrace.EventProcExit, (&posixtrace.ExitData{User: 12e6, System: 3e6, MaxRSS: 1 << 25, MinorFault: 800, Voluntary: 3, Processors: 2, Others: 5e6}).Append(nil)},
	{"signal", posixtrace.EventProcSignal, (&posixtrace.SignalData{Signal: 17, Code: 1, Sender: 4712, UID: 1000}).Append(nil)},
	{"map", posixtrace.EventProcMap, (&posixtrace.MapData{Start: 0x7f667ffbc000, End: 0x7f667ffbf000, Path: "/usr/lib/libc.so.6", BuildID: []byte("0123456789abcdef")}).Append(nil)},
}

func line(s string) []byte {
	return (&posixtrace.OutputData{Line: []byte(s)}).Append(nil)
}

// BenchmarkForm measures each form. The goal is that golden, CSV and chrome take at most three times
// as long as text.
func BenchmarkForm(b *testing.B) {
	for _, e := range benchEvents {
		b.Run(e.name+"/text", func(b *testing.B) { benchForm(b, "", e.id, e.data) })
		for _, f := range Forms {
			b.Run(e.name+"/"+f.Name, func(b *testing.B) { benchForm(b, f.Name, e.id, e.data) })
		}
	}
}

func benchForm(b *testing.B, name string, id posixtrace.EventID, data []byte) {
	form, err := NewForm(name, &Settings{Text: &Text{Base: t0}, Width: func() int { return 0 }, Format: "%t %p %i %n %d"})
	if err != nil {
		b.Fatal(err)
	}
	src := NewSource(func(id posixtrace.EventID) string {
		switch id {
		case 33:
			return "build.begins"
		case 4000:
			return "syscall.openat"
		}
		return "output.stdout"
	})
	rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: 4711, TID: 4711, Address: 0x4a3f10, UnixNano: t0}, Data: data}
	buf := form.Begin(make([]byte, 0, 128<<10))
	b.ReportAllocs()
	for b.Loop() {
		rec.UnixNano += 100
		if buf = form.Append(buf, src, rec); len(buf) >= 64<<10 {
			buf = buf[:0]
		}
	}
}
