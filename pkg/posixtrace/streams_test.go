package posixtrace

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// got is one event, with its name, as the tests compare it.
type got struct {
	name string
	data string
	pid  int
}

func (g got) String() string { return fmt.Sprintf("%s(%q) of %d", g.name, g.data, g.pid) }

// drain reads every user event that is ready.
func drain(t *testing.T, s *Stream) (list []got) {
	t.Helper()
	buf := make([]byte, 4096)
	for {
		ev, n, err := s.TryNext(buf)
		if err == ErrUnavailable {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.ID.User() {
			name, err := s.EventName(ev.ID)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, got{name, string(buf[:n]), ev.PID})
		}
	}
}

func running(t *testing.T, pid int, attr Attr) *Stream {
	t.Helper()
	s, err := Create(pid, &attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func equal(t *testing.T, have []got, want ...got) {
	t.Helper()
	if len(have) != len(want) {
		t.Fatalf("have %v, want %v", have, want)
	}
	for i := range want {
		if have[i] != want[i] {
			t.Fatalf("event %d is %v, want %v", i, have[i], want[i])
		}
	}
}

// withLog makes a stream with a log in a file, whose path it returns.
func withLog(t *testing.T, attr *Attr) (*Stream, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.trace")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	tracetest.OK(t, "OpenFile", err)
	defer f.Close()
	s, err := CreateWithLog(0, attr, f)
	tracetest.OK(t, "CreateWithLog", err)
	t.Cleanup(func() { s.Shutdown() })
	return s, path
}

// unnamed returns the data of the events without a name in a finished log.
func unnamed(t *testing.T, path string) (data []string) {
	t.Helper()
	f, err := os.Open(path)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	l, err := Open(f)
	tracetest.OK(t, "Open", err)
	defer l.Close()
	buf := make([]byte, 64<<10)
	for {
		ev, n, err := l.Next(buf)
		if err == io.EOF {
			return data
		}
		tracetest.OK(t, "Next", err)
		if ev.ID == EventUnnamed {
			data = append(data, string(buf[:n]))
		}
	}
}

// numbers records n events whose data of that size begins with their number.
func numbers(id EventID, first, n, size int) {
	for i := range n {
		b := strconv.AppendInt(nil, int64(first+i), 10)
		b = append(b, ' ')
		for len(b) < size {
			b = append(b, '.')
		}
		Event(id, b)
	}
}
