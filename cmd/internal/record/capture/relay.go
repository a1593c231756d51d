package capture

import (
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// RelayFlag is the only argument of a program that runs as a relay.
const RelayFlag = "--relay-output"

// relayFirst is the descriptor of a relay's first pipe; each pipe is followed by its output.
const relayFirst = 3

// StartRelay starts a process that continues to copy the pipes of pumps that were Left,
// so that the processes that hold them get no SIGPIPE, and closes the pipes here. The
// process runs this program again, under the name prog.
func StartRelay(prog string, pumps []*Pump) error {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open", err)
	}
	defer unix.Close(null)
	files := []uintptr{uintptr(null), uintptr(null), uintptr(null)}
	for _, p := range pumps {
		files = append(files, uintptr(p.In), uintptr(p.Out))
	}
	// The relay must inherit nothing else: another process may wait for the end of a
	// file that is open here.
	closeOnExec()
	_, _, err = syscall.StartProcess("/proc/self/exe", []string{prog, RelayFlag + "=" + strconv.Itoa(len(pumps))}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1"},
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	for _, p := range pumps {
		unix.Close(p.In)
	}
	return err
}

// Relay is the main function of a relay process: it copies its pipes to their ends.
func Relay(pipes int) {
	// When all processes are asked to terminate, the writers of the pipes may still have
	// output. The relay ends when they have closed their pipes.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGVTALRM, unix.SIGXCPU, unix.SIGPWR, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	pipes = min(max(pipes, 0), 2)
	var wg sync.WaitGroup
	for i := range pipes {
		p := &Pump{In: relayFirst + 2*i, Out: relayFirst + 2*i + 1, Done: -1}
		wg.Go(func() {
			p.Run()
			unix.Close(p.Out)
		})
	}
	wg.Wait()
}

// closeOnExec sets FD_CLOEXEC on every descriptor from 3 on.
func closeOnExec() {
	if unix.CloseRange(3, 1<<31, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, e := range fds {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
