package capture

import (
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// RelayFlag as the only argument of the program makes it a relay.
const RelayFlag = "--relay-output"

// relayFirst is where the pipes of a relay begin; each is followed by its output.
const relayFirst = 3

// StartRelay starts a process that goes on copying the pipes of pumps that were
// Left, so that those who hold them never see a broken pipe, and gives the pipes
// up. prog is the name the process shows; it runs this program again.
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
	// Whatever else is open here is somebody's who waits for its end.
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

// Relay is the life of a relay process: it copies its pipes to their ends.
func Relay(pipes int) {
	// Where all processes are asked to end, those whose output this is may have last words. The end
	// of their pipes ends a relay.
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

// closeOnExec marks every descriptor from 3 on.
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
