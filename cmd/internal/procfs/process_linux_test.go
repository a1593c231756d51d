//go:build linux

package procfs

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func TestIdentify(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	tracetest.OK(t, "start", cmd.Start())
	p, err := Identify(cmd.Process.Pid)
	if err != nil || !p.Alive() {
		t.Errorf("a process that runs: %v", err)
	}
	again, err := Parse(p.String())
	if err != nil || again != p {
		t.Errorf("Parse(%q) = %v, %v", p, again, err)
	}
	if parent, ok := Parent(p.PID); !ok || parent != os.Getpid() {
		t.Errorf("its parent is %d, %v", parent, ok)
	}
	cmd.Process.Kill()
	for deadline := time.Now().Add(time.Minute); p.Alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it has been killed, and runs") // it is a zombie now
		}
	}
	cmd.Wait()
	if _, err := Identify(cmd.Process.Pid); err == nil {
		t.Error("a process that has ended is identified")
	}
	self, err := Identify(os.Getpid())
	tracetest.OK(t, "Identify", err)
	if other := (Process{self.PID, self.start + "1"}); other.Alive() {
		t.Error("a process of another start time runs")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"", "1", ":", ":5", "x:5"} {
		if p, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) = %v", s, p)
		}
	}
}
