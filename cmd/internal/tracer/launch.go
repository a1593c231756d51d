package tracer

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Launch calls start, which is to start the command, such that the command is traced
// from its birth: on a thread that is traced itself and has the filter, which a child
// inherits both. The thread ends with that; no other of this process is concerned.
// Without a tracer start is called all the same.
func (t *Tracer) Launch(start func() error) error {
	done := make(chan error, 1)
	go t.launch(start, done)
	return <-done
}

func (t *Tracer) launch(start func() error, done chan<- error) {
	runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		// The main thread would not end. While this goroutine has it, another one
		// cannot get it.
		defer runtime.UnlockOSThread()
		err := make(chan error, 1)
		go t.launch(start, err)
		done <- <-err
		return
	}
	enter(t.stage, stageLaunch)
	done <- start()
}
