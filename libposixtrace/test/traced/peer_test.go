package traced

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// traceDir is the trace directory of the test process and of the programs that it starts.
func traceDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("PTRACE_DIR")
	if dir == "" {
		t.Fatal("PTRACE_DIR is not set")
	}
	return dir
}

// command returns a command that runs a program with the trace directory of the test process.
func command(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := ctest.Command(t, traceDir(t), program, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// peer is a running program of testdata/peer.c.
type peer struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	pid  int
	over bool
}

func startPeer(t testing.TB, env ...string) *peer {
	t.Helper()
	return startProgram(t, ctest.C(t, "testdata/peer.c"), env...)
}

func startProgram(t testing.TB, program string, env ...string) *peer {
	t.Helper()
	return startCommand(t, command(t, program), env...)
}

func startCommand(t testing.TB, cmd *exec.Cmd, env ...string) *peer {
	t.Helper()
	cmd.Env = append(cmd.Env, env...)
	p := &peer{t: t, cmd: cmd}
	p.in, _ = cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	p.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.pid = cmd.Process.Pid
	t.Cleanup(func() {
		if !p.over {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return p
}

// ask sends a line and returns the answer.
func (p *peer) ask(format string, args ...any) string {
	p.t.Helper()
	fmt.Fprintf(p.in, format+"\n", args...)
	return p.line()
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the program says %q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// number is ask for an answer that is a number.
func (p *peer) number(format string, args ...any) int {
	p.t.Helper()
	line := p.ask(format, args...)
	n, err := strconv.Atoi(line)
	if err != nil {
		p.t.Fatalf("%s: the program says %q", fmt.Sprintf(format, args...), line)
	}
	return n
}

// done sends a line and expects done.
func (p *peer) done(format string, args ...any) {
	p.t.Helper()
	if line := p.ask(format, args...); line != "done" {
		p.t.Fatalf("%s: the program says %q", fmt.Sprintf(format, args...), line)
	}
}

// end ends the program, whose status must be 0.
func (p *peer) end() {
	p.t.Helper()
	p.in.Close()
	rest, _ := io.ReadAll(p.out)
	p.over = true
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%v\n%s", err, rest)
	}
}

// create makes a stream that traces a process, and starts it.
func create(t testing.TB, pid int, attr *posixtrace.Attr) *posixtrace.Stream {
	t.Helper()
	native(t) // the counter of this processor is the clock of the stream
	s, err := posixtrace.Create(pid, attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	start(t, s)
	return s
}

func start(t testing.TB, s *posixtrace.Stream) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
}

// event is a user event of a stream.
type event struct {
	posixtrace.EventInfo
	name, data string
}

func (e *event) number() int {
	if len(e.data) != 4 {
		return -1
	}
	return int(binary.LittleEndian.Uint32([]byte(e.data)))
}

// events consumes the user events of a stream.
func events(t testing.TB, s *posixtrace.Stream) (list []event) {
	t.Helper()
	data := make([]byte, 1<<15)
	for {
		ev, n, err := s.TryNext(data)
		if err != nil {
			return list
		}
		if !ev.ID.User() {
			continue
		}
		name, err := s.EventName(ev.ID)
		if err != nil {
			t.Errorf("the name of type %d: %v", ev.ID, err)
		}
		list = append(list, event{ev, name, string(data[:n])})
	}
}

// none checks that a stream has lost no event and no process.
func none(t testing.TB, s *posixtrace.Stream) {
	t.Helper()
	st, err := s.Status()
	if err != nil {
		t.Fatal(err)
	}
	if st.Lost != 0 || st.Missed != 0 {
		t.Errorf("lost %d, missed %d (%v)", st.Lost, st.Missed, st.MissedError)
	}
}

// native skips a test that needs the processor itself.
func native(t testing.TB) { tracetest.Only(t, ctest.Native(), "the programs run on this processor") }
