package tracer

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A tracer detaches when no thread that it has interrupted is still to stop, but waits for such a
// thread only so long.
func TestReleaseAwaitsStops(t *testing.T) {
	k := &task{tid: 1, pid: 1, awaited: true}
	tr := &tracer{cfg: Config{Attach: 1}, tasks: map[int]*task{1: k}}
	if tr.mayRelease(false) {
		t.Error("it releases, and was not asked to")
	}
	tr.releasing.Store(true)
	tr.asked = time.Now().Add(time.Hour) // no time passes
	if tr.mayRelease(false) {
		t.Error("it releases while a thread is about to stop")
	}
	k.awaited = false
	if tr.mayRelease(true) {
		t.Error("it releases while a thread is stopped")
	}
	if !tr.mayRelease(false) {
		t.Error("it does not release, and no thread is about to stop")
	}
	k.awaited = true
	tr.asked = time.Now().Add(-settleInterrupted)
	if !tr.mayRelease(true) {
		t.Error("it waits without a limit")
	}
}

// An interrupted thread is awaited until its next stop, which may be another one.
func TestInterruptedIsAwaited(t *testing.T) {
	runtime.LockOSThread() // the kernel knows a tracer by its thread
	defer runtime.UnlockOSThread()
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleeper.Wait()
	defer sleeper.Process.Kill()
	pid := sleeper.Process.Pid
	tr := &tracer{cfg: Config{Attach: pid}, tasks: map[int]*task{}, thread: unix.Gettid()}
	if err := tr.seizeProcess(pid); err != nil {
		t.Fatal(err)
	}
	tr.calling.Store(true)
	tr.follow()
	k := tr.tasks[pid]
	if k == nil || !k.awaited || !k.interrupted {
		t.Fatalf("follow leaves the thread as %+v", k)
	}
	var status syscall.WaitStatus
	for {
		tid, err := syscall.Wait4(pid, &status, unix.WALL, nil)
		if err == syscall.EINTR {
			continue
		}
		if tid != pid || err != nil || !status.Stopped() {
			t.Fatalf("wait4: %d, %v, %#x", tid, err, status)
		}
		break
	}
	if tr.stopped(pid, status); k.awaited { // the stop may be that of the execution of sleep
		t.Errorf("after the stop the thread is %+v", k)
	}
}
