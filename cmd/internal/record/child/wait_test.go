package child

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A stop of the command by ptrace(2), which wait(2) reports to every thread of the tracer's process, is not its
// end. It may be the parent's: ptrace-run reads the registers of what does not end.
func TestWaitTracedStop(t *testing.T) {
	c, err := Start([]string{"sleep", "60"}, &Attr{Files: [3]int{0, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(c.PID, unix.SIGKILL)
	ended := make(chan syscall.WaitStatus)
	go func() {
		status, _, err := c.Wait()
		if err != nil {
			t.Error(err)
		}
		ended <- status
	}()
	traced := make(chan error)
	go func() {
		runtime.LockOSThread() // it ends, and with it what it traces is released
		request := func(request int) error {
			_, _, no := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(c.PID), 0, 0, 0, 0)
			if no != 0 {
				return no
			}
			return nil
		}
		err := request(unix.PTRACE_SEIZE)
		if err == nil {
			err = request(unix.PTRACE_INTERRUPT)
		}
		time.Sleep(50 * time.Millisecond) // stopped, as the parent sees
		traced <- err
	}()
	if err := <-traced; err != nil {
		t.Fatal(err)
	}
	select {
	case status := <-ended:
		t.Fatalf("Wait returned %#x at a stop", int(status))
	case <-time.After(50 * time.Millisecond): // what is wrong may come later
	}
	if !c.Alive() {
		t.Error("the command has ended")
	}
	if status, err := WaitID(c.PID, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); status != nothing || err != nil {
		t.Errorf("WaitID: %#x, %v", int(status), err)
	}
	unix.Kill(c.PID, unix.SIGKILL)
	if status := <-ended; !status.Signaled() || status.Signal() != unix.SIGKILL {
		t.Errorf("Wait returned %#x", int(status))
	}
}
