package traced

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// owing is how many writers a process has that owes an event with each: enough to crowd a stream.
const owing = 24

// oweAndWait is a process that owes events to a stream until it is killed.
func oweAndWait(path string) {
	s, err := posixtrace.Attach(path)
	if err != nil {
		panic(err)
	}
	for range owing {
		r, err := s.Recorder()
		if err != nil {
			panic(err)
		}
		if ev := (posixtrace.EventInfo{ID: posixtrace.EventOutputStdout}); !r.Record(ev, nil) {
			panic("not recorded")
		}
		tool.Owe(r, posixtrace.EventOutputStdout, true)
	}
	fmt.Println("owes")
	select {}
}

// A C program that recovers what a dead process had counts the events that the process has accepted and
// not recorded.
func TestRecoveryCountsOwedEvents(t *testing.T) {
	s := inherited(t)
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), oweVariable+"="+info.Path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	if err != nil || line != "owes\n" {
		t.Fatalf("the process prints %q, %v", line, err)
	}
	lost := func() uint64 {
		st, err := s.PeekStatus()
		if err != nil {
			t.Fatal(err)
		}
		return st.Lost
	}
	if n := lost(); n != 0 {
		t.Fatalf("%d events are lost before any recovery", n)
	}
	p := startPeer(t)
	p.done("event %d 1", p.number("open witness"))
	if n := lost(); n != owing {
		t.Errorf("%d events are lost, want %d", n, owing)
	}
	p.end()
}
