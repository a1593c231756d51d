package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Statuses as env(1) and timeout(1) have them.
const (
	statusTimedOut = 124
	statusOwn      = 125
	statusNotExec  = 126
	statusNotFound = 127
)

// child is the command as a process.
type child struct {
	pid  int
	path string   // of the program that was executed
	argv []string // as it was executed
	link *link    // to its parent where that is a monitor, not this process

	mu     sync.Mutex
	reaped bool // its pid may be somebody else's now
}

// startChild executes argv as execvp(3) would, with the descriptors in files as
// its 0, 1 and 2. All others that this process inherited are left as they are.
func startChild(argv, env []string, files [3]int) (*child, error) {
	// The runtime uses descriptors beyond those given while it starts the
	// process; see that they cannot be inherited ones.
	fill := fillDescriptors()
	defer fill()
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])}}
	c := &child{}
	err := search(argv, func(path string, args []string) (err error) {
		c.path, c.argv = path, args
		c.pid, _, err = syscall.StartProcess(path, args, attr)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// search looks for the program of argv as execvp(3) would, and calls start for
// what may be it until that does not fail. The error has the status to end with.
func search(argv []string, start func(path string, args []string) error) error {
	var last error = syscall.ENOENT
	name := argv[0]
	if name == "" {
		name = "''"
	}
	for _, path := range candidates(argv[0]) {
		if err := executable(path); err != nil {
			last = worse(last, err)
			continue
		}
		err := start(path, argv)
		if err == syscall.ENOEXEC {
			// No program in a form the kernel knows is a shell script.
			err = start("/bin/sh", append([]string{"/bin/sh", path}, argv[1:]...))
		}
		switch err {
		case nil:
			return nil
		case syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES:
			last = worse(last, err)
			continue
		case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
			return withStatus(failure(name, err), statusOwn)
		}
		return withStatus(failure(name, err), statusNotExec)
	}
	status := statusNotExec
	if last == syscall.ENOENT {
		status = statusNotFound
	}
	return withStatus(failure(name, last), status)
}

// worse keeps the reason that says more: something was there.
func worse(old, new error) error {
	switch {
	case new == syscall.ENOTDIR:
		return old
	case old == syscall.ENOENT:
		return new
	}
	return old
}

// candidates returns the paths at which name may be found.
func candidates(name string) (paths []string) {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	if name == "" {
		return nil
	}
	path, ok := os.LookupEnv("PATH")
	if !ok {
		path = "/bin:/usr/bin" // confstr(_CS_PATH)
	}
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		if !strings.HasSuffix(dir, "/") {
			dir += "/"
		}
		paths = append(paths, dir+name)
	}
	if path == "" {
		paths = []string{"./" + name}
	}
	return paths
}

// isCommand reports whether a program of this name can be executed.
func isCommand(name string) bool {
	return slices.ContainsFunc(candidates(name), func(path string) bool { return executable(path) == nil })
}

// executable says why path cannot be executed, as far as that can be known
// without a fork.
func executable(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return syscall.EACCES
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

// fillDescriptors takes the descriptors 3 and 4 where they are free, and returns
// a function that frees them again.
func fillDescriptors() func() {
	var mine []int
	for {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			break
		}
		mine = append(mine, fd)
		if fd > 4 {
			break
		}
	}
	return func() {
		for _, fd := range mine {
			unix.Close(fd)
		}
	}
}

// descriptorRoom is how many unused descriptors surround those that are made to be
// inherited: the runtime puts a few next to those it passes on while it starts a process.
const descriptorRoom = 8

// freeDescriptor returns a descriptor that is not in use, nor are those around it. It is
// the lowest one: beyond 64, and again beyond 256, the kernel needs a larger table, for
// which a process with several threads waits for many milliseconds.
func freeDescriptor() int {
	used := []int{2}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := parseDigits(e.Name()); err == nil && fd < 1<<20 {
			used = append(used, int(fd))
		}
	}
	slices.Sort(used)
	last := 2
	for _, fd := range used {
		if fd-last > 2*descriptorRoom {
			break
		}
		last = max(last, fd)
	}
	return last + descriptorRoom
}

// signal sends sig to the command unless it has ended.
func (c *child) signal(sig syscall.Signal) {
	if c.link != nil {
		c.link.send(orderSignal, int(sig))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		unix.Kill(c.pid, sig)
	}
}

// signalAll sends sig to the command and to the others of its process group, but
// not to this process if it is one of them.
func (c *child) signalAll(sig syscall.Signal) {
	if c.link != nil {
		c.link.send(orderSignalGroup, int(sig))
		return
	}
	c.signal(sig)
	signalGroup(c.pid, sig)
}

// alive reports whether the command has not been waited for.
func (c *child) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.reaped
}

// wait waits for the command's end.
func (c *child) wait() (status syscall.WaitStatus, usage syscall.Rusage, err error) {
	if c.link != nil {
		status, usage, err = c.link.wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reaped = true
		return status, usage, err
	}
	_, err = waitFor(c.pid, unix.WEXITED|unix.WNOWAIT, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	if err == nil {
		status, err = waitFor(c.pid, unix.WEXITED, &usage)
	}
	return status, usage, err
}

// exitStatus is the status a shell would show.
func exitStatus(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}
