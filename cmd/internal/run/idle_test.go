package run

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// What a tree of processes does is seen, and what it does not is not.
func TestActivity(t *testing.T) {
	cmd := exec.Command("sh", "-c", `while read what; do case $what in
		write) echo x;; fork) sleep 1000 & ;; compute) i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done;; esac; done`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	settled := func() activity {
		for deadline := time.Now().Add(time.Minute); ; {
			was := activityOf(cmd.Process.Pid)
			time.Sleep(100 * time.Millisecond)
			if is := activityOf(cmd.Process.Pid); is == was {
				return is
			}
			if time.Now().After(deadline) {
				t.Fatal("never still")
			}
		}
	}
	was := settled()
	for _, what := range []string{"write", "fork", "compute"} {
		if _, err := in.Write([]byte(what + "\n")); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); activityOf(cmd.Process.Pid) == was; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s is not seen", what)
			}
		}
		is := settled()
		if wrote, forked := is.written != was.written, is.processes != was.processes; wrote != (what == "write") || forked != (what == "fork") {
			t.Errorf("%s: %+v, before %+v", what, is, was)
		}
		was = is
	}
	if a := activityOf(0x7fffffff); a != (activity{}) {
		t.Errorf("of no process: %+v", a)
	}
}

// BenchmarkActivity looks at all processes of the machine.
func BenchmarkActivity(b *testing.B) {
	for b.Loop() {
		activityOf(os.Getpid())
	}
}
