package command

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// helpers are programs for the scripts that trace processes: they do what is
// delicate under a tracer.
var helpers = map[string]func(){
	"trace-jobs":    traceJobs,
	"trace-threads": traceThreads,
	"trace-server":  traceServer,
	"trace-traceme": func() {
		_, _, no := unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0)
		fmt.Println(no)
	},
}

// traceJobs stops and continues a child, and prints what a shell would see.
func traceJobs() {
	pid, _, err := syscall.StartProcess("/bin/sleep", []string{"sleep", "20"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sig := range []syscall.Signal{unix.SIGSTOP, unix.SIGCONT, unix.SIGTSTP, unix.SIGCONT, unix.SIGTTOU, unix.SIGCONT, unix.SIGSTOP, unix.SIGKILL} {
		syscall.Kill(pid, sig)
		var ws syscall.WaitStatus
		for {
			if _, err = syscall.Wait4(pid, &ws, syscall.WUNTRACED|syscall.WCONTINUED, nil); err != unix.EINTR {
				break
			}
		}
		fmt.Println(sig, err, ws.Stopped(), ws.Stopped() && ws.StopSignal() == sig, ws.Continued(), ws.Signaled())
	}
}

// traceServer is a server and its clients, each connection on threads of its own.
func traceServer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	var all sync.WaitGroup
	all.Go(func() {
		for range 20 {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				runtime.LockOSThread()
				io.Copy(c, c)
				c.Close()
			})
		}
	})
	for range 20 {
		all.Go(func() {
			runtime.LockOSThread()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				return
			}
			c.Write([]byte("hello"))
			c.(*net.TCPConn).CloseWrite()
			io.ReadAll(c)
			c.Close()
		})
	}
	all.Wait()
}

// traceThreads executes itself on a thread that is not the first, while others wait.
func traceThreads() {
	if len(os.Args) > 1 {
		fmt.Println(os.Args[1])
		os.Exit(5)
	}
	ready := make(chan bool)
	for range 4 {
		go func() {
			runtime.LockOSThread()
			ready <- true
			select {}
		}()
		<-ready
	}
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			go func() {
				runtime.LockOSThread()
				execSelf()
			}()
			select {}
		}
		execSelf()
	}()
	select {}
}

func execSelf() {
	syscall.Exec("/proc/self/exe", []string{"trace-threads", "executed"}, os.Environ())
}
