//go:build linux

package tracer

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Launch calls start, which starts the command, on a thread that is traced and has the
// filter. The command inherits both, and so is traced from the start. The thread then ends; the
// other threads of this process are not traced. Launch calls start even if the tracer is gone.
func (t *Tracer) Launch(start func() error) error {
	done := make(chan error, 1)
	go t.launch(start, done)
	return <-done
}

func (t *Tracer) launch(start func() error, done chan<- error) {
	runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		// The main thread cannot end. Keep it while another goroutine gets another thread.
		defer runtime.UnlockOSThread()
		err := make(chan error, 1)
		go t.launch(start, err)
		done <- <-err
		return
	}
	enter(t.stage, stageLaunch)
	done <- start()
}
