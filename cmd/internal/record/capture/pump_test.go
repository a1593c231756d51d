package capture

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// plumb starts a pump between two pipes. The channel delivers its result.
func plumb(t *testing.T, p *Pump) (in, out *os.File, result <-chan Result) {
	t.Helper()
	r, w, err := Pipe(3)
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.In, p.Out = r, int(outW.Fd())
	ch := make(chan Result, 1)
	go func() {
		ch <- p.Run()
		outW.Close()
	}()
	in = os.NewFile(uintptr(w), "in")
	t.Cleanup(func() { in.Close(); outR.Close() })
	return in, outR, ch
}

func want(t *testing.T, result <-chan Result, want Result) {
	t.Helper()
	select {
	case got := <-result:
		if got != want {
			t.Fatalf("the pump ended with %v, want %v", got, want)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("the pump does not end within 20 s")
	}
}

func TestPumpPassesAllBytes(t *testing.T) {
	text := strings.Repeat("line\x00with\xffbytes\n", 100_000) + "and no end"
	l := &lines{}
	p := &Pump{Done: -1, Lines: NewSplitter(l, 4095)}
	in, out, result := plumb(t, p)
	go func() {
		io.WriteString(in, text)
		in.Close()
	}()
	got, err := io.ReadAll(out)
	if err != nil || string(got) != text {
		t.Errorf("%d bytes came through (%v), want %d", len(got), err, len(text))
	}
	want(t, result, EOF)
	if string(l.whole) != text {
		t.Errorf("the lines have %d bytes, want %d", len(l.whole), len(text))
	}
}

// The pump passes the beginning of a line on before the line is complete.
func TestPumpDoesNotWaitForNewline(t *testing.T) {
	in, out, result := plumb(t, &Pump{Done: -1, Lines: NewSplitter(&lines{}, 4095)})
	io.WriteString(in, "Password: ")
	b := make([]byte, 64)
	if n, err := out.Read(b); string(b[:n]) != "Password: " {
		t.Errorf("Read = %q, %v", b[:n], err)
	}
	in.Close()
	want(t, result, EOF)
}

// When the reader of the output closes it, the command's next write fails, even its first.
func TestPumpClosesInputWithoutReader(t *testing.T) {
	in, out, result := plumb(t, &Pump{Done: -1, Lines: NewSplitter(&lines{}, 4095)})
	out.Close()
	want(t, result, Broken)
	if _, err := unix.Write(int(in.Fd()), []byte("x")); err != unix.EPIPE {
		t.Errorf("Write without a reader of the output: %v, want EPIPE", err)
	}
}

func TestPumpLeavesPipeThatOutlivesCommand(t *testing.T) {
	doneR, doneW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer doneR.Close()
	l := &lines{}
	p := &Pump{Done: int(doneR.Fd()), Drain: 50 * time.Millisecond, Lines: NewSplitter(l, 4095)}
	in, out, result := plumb(t, p)
	io.WriteString(in, "before\n")
	doneW.Close()
	want(t, result, Left)
	got, _ := io.ReadAll(out)
	if !bytes.Equal(got, []byte("before\n")) || len(l.got) != 1 {
		t.Errorf("passed %q, lines %q", got, l.got)
	}
	// The pipe is still open for a relay.
	if _, err := io.WriteString(in, "after\n"); err != nil {
		t.Error(err)
	}
	unix.Close(p.In)
}

// A writer that never stops does not keep the pump running past the drain time.
func TestPumpLeavesBusyPipe(t *testing.T) {
	doneR, doneW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer doneR.Close()
	p := &Pump{Done: int(doneR.Fd()), Drain: 50 * time.Millisecond, Lines: NewSplitter(&lines{}, 4095)}
	in, out, result := plumb(t, p)
	go func() {
		text := bytes.Repeat([]byte("again and again\n"), 4096)
		for {
			if _, err := in.Write(text); err != nil {
				return
			}
		}
	}()
	go io.Copy(io.Discard, out)
	doneW.Close()
	want(t, result, Left)
	unix.Close(p.In)
}

func TestSameOpenFile(t *testing.T) {
	open := func(name string) int {
		fd, err := unix.Open(name, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	name := t.TempDir() + "/file"
	a, b := open(name), open(name)
	dup, err := unix.Dup(a)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dup)
	if !SameOpenFile(a, dup) {
		t.Error("a duplicate is not the same open file")
	}
	if SameOpenFile(a, b) {
		t.Error("a file opened twice is one open file")
	}
	if SameOpenFile(a, open("/dev/null")) {
		t.Error("two files are one")
	}
	if SameOpenFile(a, -1) {
		t.Error("a closed descriptor is an open file")
	}
}
