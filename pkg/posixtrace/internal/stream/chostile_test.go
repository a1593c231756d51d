package stream

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// hostile is a program in C, under the sanitizers for addresses and undefined behaviour, that records
// in damaged streams.
type hostile struct {
	t    *testing.T
	path string
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
	cmd  *exec.Cmd
}

func startHostile(t *testing.T) *hostile {
	t.Helper()
	prog := cPeer(t, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
	h := &hostile{t: t, path: filepath.Join(t.TempDir(), "stream"), cmd: exec.Command(prog)}
	h.cmd.Env = append(os.Environ(), killEnv+"=hostile")
	h.cmd.Stderr = &h.errs
	var err error
	h.in, err = h.cmd.StdinPipe()
	tracetest.OK(t, "stdin", err)
	out, err := h.cmd.StdoutPipe()
	tracetest.OK(t, "stdout", err)
	h.out = bufio.NewReader(out)
	tracetest.OK(t, "start", h.cmd.Start())
	t.Cleanup(func() { h.cmd.Process.Kill(); h.cmd.Wait() })
	h.line("ready")
	return h
}

// line expects one of the answers, within a time that no stream may exceed.
func (h *hostile) line(answers ...string) string {
	h.t.Helper()
	stuck := time.AfterFunc(time.Minute, func() { h.cmd.Process.Kill() })
	s, err := h.out.ReadString('\n')
	stuck.Stop()
	for _, a := range answers {
		if s == a+"\n" {
			return a
		}
	}
	h.cmd.Wait()
	h.t.Fatalf("the program says %q, %v; %v\n%s", s, err, h.cmd.ProcessState, h.errs.String())
	return ""
}

// exercise has the program use a file with the content b.
func (h *hostile) exercise(b []byte) { h.accepts(b) }

// accepts exercises b, and reports whether the program takes it for a stream.
func (h *hostile) accepts(b []byte) bool {
	h.t.Helper()
	tracetest.OK(h.t, "write", os.WriteFile(h.path, b, 0o600))
	fmt.Fprintln(h.in, h.path)
	return h.line("done", "refused") == "done"
}

// TestCFuzzedStreamsAreHarmless is TestRandomEditsAreHarmless, and the corpora of FuzzStream and
// FuzzAttach, for writers in C.
func TestCFuzzedStreamsAreHarmless(t *testing.T) {
	h := startHostile(t)
	files, err := filepath.Glob("testdata/fuzz/FuzzAttach/*")
	tracetest.OK(t, "glob", err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		tracetest.OK(t, "read", err)
		_, quoted, _ := strings.Cut(string(text), "[]byte(")
		start, err := strconv.Unquote(strings.TrimSuffix(strings.TrimSpace(quoted), ")"))
		tracetest.OK(t, name, err)
		b := victimStream(t, UntilFull)
		copy(b[:unsafe.Offsetof(header{}.logPath)], start)
		h.exercise(b)
	}
	base := uint64(time.Now().UnixNano())
	end := time.Now().Add(time.Duration(tracetest.Scale(1000, 10000, 60000)) * time.Millisecond)
	n := 0
	for ; n < 24 || time.Now().Before(end); n++ {
		seed, most := base+uint64(n), 60
		if n < 24 { // the seeds of FuzzStream
			seed, most = uint64(n), 30
		}
		rng := rand.New(rand.NewPCG(seed, 9))
		edits := make([]byte, 12*(1+rng.IntN(most)))
		for i := range edits {
			edits[i] = byte(rng.Uint32())
		}
		b := victimStream(t, uint8(seed%3)+1)
		spoil(b, edits)
		h.t.Logf("seed %d", seed)
		h.exercise(b)
	}
	t.Logf("%d streams, %d of the corpus", n, len(files))
}

// TestCScribbledStreamIsHarmless scribbles on a stream while threads of a program in C record in it.
// They neither fault nor hang.
func TestCScribbledStreamIsHarmless(t *testing.T) {
	prog := cPeer(t, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
	for _, policy := range []uint8{Loop, UntilFull} {
		dir, m, all := killStream(t, policy, 64<<10)
		ctl := newWriter(t, m, 1)
		m.Start(ctl, Event{})
		cmd := startStorm(t, prog, dir, 0, "storm 4 100")
		rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
		b := m.Bytes()
		edits := make([]byte, 12)
		for end := time.Now().Add(time.Duration(tracetest.Scale(300, 5000, 30000)) * time.Millisecond); time.Now().Before(end); {
			for i := range edits {
				edits[i] = byte(rng.Uint32())
			}
			edits[0] = edits[0]&^7 | byte(1+rng.IntN(7)) // spoil itself needs the sizes
			if rng.IntN(4) == 0 {
				m.h.state.Store(m.h.state.Load()&^(Dead|Full|LogFull) | Running)
			}
			spoil(b, edits)
		}
		all[stormPhase].before.Store(stormEnds)
		for end := time.Now().Add(time.Minute); all[stormDone].before.Load() < 4; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("policy %d: %d of 4 threads are ready; %s", policy, all[stormDone].before.Load(), states(m))
			}
		}
		cmd.in.Close()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("policy %d: %v\n%s", policy, err, cmd.errs.String())
		}
	}
}

// storming is a process of a storm.
type storming struct {
	*exec.Cmd
	in   io.Closer
	errs bytes.Buffer
}

// startStorm starts a process of a storm, from a program, with arguments, or, if that is "", in Go.
func startStorm(t *testing.T, prog, dir string, who int, mode string) *storming {
	t.Helper()
	if prog == "" {
		prog = "/proc/self/exe"
	}
	s := &storming{Cmd: exec.Command(prog)}
	if strings.Contains(prog, " ") {
		s.Cmd = exec.Command(strings.Fields(prog)[0], strings.Fields(prog)[1:]...)
	}
	s.Env = append(os.Environ(), killEnv+"="+mode, "STREAM_TEST_DIR="+dir, "STREAM_TEST_WHO="+strconv.Itoa(who), "GOMAXPROCS=2", "ASAN_OPTIONS=detect_leaks=0")
	s.Stderr = &s.errs
	out, err := s.StdoutPipe()
	tracetest.OK(t, "stdout", err)
	s.in, err = s.StdinPipe()
	tracetest.OK(t, "stdin", err)
	tracetest.OK(t, "start", s.Start())
	t.Cleanup(func() { s.Process.Kill(); s.Wait() })
	if l, err := bufio.NewReader(out).ReadString('\n'); l != "ready\n" {
		t.Fatalf("the process says %q, %v\n%s", l, err, s.errs.String())
	}
	return s
}
