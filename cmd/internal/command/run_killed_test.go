package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

var killedLost = regexp.MustCompile(`: ([0-9]+) events? w[aser]+ lost\n`)

// What ptrace-run -c had shown when it was killed is in the log, or the log tells that
// and how much of it is missing.
func TestRunCaptureKilled(t *testing.T) {
	h := newCrashes(t)
	missing := 0
	for round := range 12 {
		log := filepath.Join(h.dir, "killed"+strconv.Itoa(round))
		out, err := os.Create(filepath.Join(h.dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := h.command("ptrace-run", "-c", "-o", log, "seq", "100000000")
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		h.wait("output", func() bool { st, err := out.Stat(); return err == nil && st.Size() > 1<<20 })
		time.Sleep(time.Duration(round%4) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		shown, err := os.ReadFile(out.Name())
		out.Close()
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(shown, []byte("\n"))
		recorded := bytes.Count([]byte(h.output("ptrace-dump", "-e", "output.stdout", "--format=%d\n", log)), []byte("\n"))
		check := h.command("ptrace-dump", "--check", log)
		var said bytes.Buffer
		check.Stderr = &said
		err = check.Run()
		status := 0
		if e, ok := err.(*exec.ExitError); ok {
			status = e.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if recorded >= lines {
			continue
		}
		missing++
		lost := 0
		if m := killedLost.FindSubmatch(said.Bytes()); m != nil {
			lost, _ = strconv.Atoi(string(m[1]))
		}
		if status != 1 || lost < lines-recorded || !bytes.Contains(said.Bytes(), []byte("recorder was killed")) {
			t.Errorf("of %d lines that were shown %d were recorded; --check: status %d, %q", lines, recorded, status, said.String())
		}
	}
	t.Logf("lines were missing %d times", missing)
	// Killed with all recorded, it has lost nothing.
	log := filepath.Join(h.dir, "idle")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := h.command("ptrace-run", "-c", "-o", log, "sh", "-c", "seq 100; exec sleep 60")
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the command, which is left
	h.wait("lines in the log", func() bool {
		b, _ := h.command("ptrace-dump", "-e", "output.stdout", "--format=%d\n", log).Output()
		time.Sleep(10 * time.Millisecond)
		return bytes.Count(b, []byte("\n")) == 100
	})
	cmd.Process.Kill()
	cmd.Wait()
	in.Close()
	out.Close()
	h.output("ptrace-dump", "--check", "--strict", log)
}
