package posixtrace

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func init() {
	// pointer: passes a trace point for each line of input.
	tracetest.Helpers["pointer"] = func([]string) {
		id, err := OpenEventID("passed")
		tracetest.Check(err == nil, "OpenEventID: %v", err)
		fmt.Println(os.Getpid())
		for {
			var n int
			if _, err := fmt.Scanln(&n); err != nil {
				return
			}
			for range n {
				Event(id, nil)
			}
			fmt.Println("passed")
		}
	}
}

// TestOtherVersionIsNotTraced changes the version of a stream before its target connects. The target
// records nothing there, says why, once, and goes on to record in another stream.
func TestOtherVersionIsNotTraced(t *testing.T) {
	const offset = 8 // of the version in the file
	p := tracetest.Start(t, "pointer")
	p.Line()
	other := running(t, p.PID, Attr{})
	info, err := other.Info()
	tracetest.OK(t, "Info", err)
	f, err := os.OpenFile(info.Path, os.O_WRONLY, 0)
	tracetest.OK(t, "OpenFile", err)
	_, err = f.WriteAt([]byte{0xff, 0x0f}, offset)
	tracetest.OK(t, "WriteAt", err)
	f.Close()
	var streams []*Stream
	for n := range 3 {
		if n > 0 {
			streams = append(streams, running(t, p.PID, Attr{}))
		}
		fmt.Fprintln(p.In, 10)
		p.Line()
	}
	for i, s := range streams {
		if n := len(drain(t, s)); n != 20-10*i {
			t.Errorf("stream %d of this version has %d events", i, n)
		}
	}
	st, err := other.PeekStatus()
	tracetest.OK(t, "PeekStatus", err)
	if st.Missed != 1 || st.MissedError != syscall.EPROTONOSUPPORT {
		t.Errorf("missed %d, %v", st.Missed, st.MissedError)
	}
	if n := len(drain(t, other)); n != 0 {
		t.Errorf("%d events are in the stream of the other version", n)
	}
}
