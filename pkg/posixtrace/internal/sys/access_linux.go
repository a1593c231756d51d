package sys

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// MayTrace returns nil if the caller may trace p. The rule is that of ptrace(2): the same real,
// effective and saved user and group, and a target that is dumpable (no set-uid program); or
// CAP_SYS_PTRACE, or root. Errors: EPERM; ESRCH p is gone.
func MayTrace(p Proc) error {
	if p.IsSelf() {
		return nil
	}
	err := mayTrace(int(p.PID))
	// The status belongs to p only if p still lives: the files of a process that has just ended
	// are root's.
	if !p.Alive() {
		return unix.ESRCH
	}
	return err
}

// Secure reports whether the program has rights that the process that executed it may lack: it is
// set-uid or set-gid, or its file has capabilities. Such a program must not trust the environment.
func Secure() bool {
	return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() || secureExec()
}

// secureExec reports AT_SECURE, which the kernel sets at exec.
var secureExec = sync.OnceValue(func() bool {
	const atSecure = 23
	list, err := unix.Auxv()
	for _, e := range list {
		if e[0] == atSecure {
			return e[1] != 0
		}
	}
	return err != nil
})

func mayTrace(pid int) error {
	if os.Geteuid() == 0 {
		return nil
	}
	err := sameUser(pid)
	if err == nil {
		return nil
	}
	switch may, e := hasCap(capSysPtrace); {
	case e != nil:
		return e
	case may:
		return nil
	}
	return err
}

// unseen is the error of a process one of whose files could not be read.
func unseen(pid int, err error) error {
	if full(err) {
		return err
	}
	return errUnseen(pid) // if it exists at all
}

// full reports whether a file could not be opened because there is no room for another one.
func full(err error) bool {
	return err == unix.EMFILE || err == unix.ENFILE || err == unix.ENOMEM
}

// sameUser applies the rule to a caller without privilege.
func sameUser(pid int) error {
	dir := "/proc/" + strconv.Itoa(pid)
	b, err := readStatus(dir)
	if err != nil {
		return unseen(pid, err)
	}
	r, e, s := unix.Getresuid()
	uids := [3]int{r, e, s}
	r, e, s = unix.Getresgid()
	gids := [3]int{r, e, s}
	if ids, ok := statusIDs(b, "Uid:"); !ok || ids != uids {
		return fmt.Errorf("process %d runs as another user: %w", pid, unix.EPERM)
	}
	if ids, ok := statusIDs(b, "Gid:"); !ok || ids != gids {
		return fmt.Errorf("process %d runs in another group: %w", pid, unix.EPERM)
	}
	// The kernel gives the files in the /proc directory of an undumpable process to root,
	// though not the directory.
	var st unix.Stat_t
	if err := retry(func() error { return unix.Stat(dir+"/status", &st) }); err != nil {
		return unseen(pid, err)
	}
	if int(st.Uid) != uids[1] {
		// It does the same to a process that has released its memory on its way to the end.
		b, err := readStatus(dir)
		if err != nil {
			return unseen(pid, err)
		}
		if statusLine(b, "VmSize:") == nil {
			return unix.ESRCH
		}
		return fmt.Errorf("process %d is protected (not dumpable): %w", pid, unix.EPERM)
	}
	return nil
}

// statusIDs returns the real, effective and saved id in a line of /proc/PID/status.
func statusIDs(status []byte, key string) (ids [3]int, ok bool) {
	f := bytes.Fields(statusLine(status, key))
	if len(f) < 3 {
		return ids, false
	}
	for i := range ids {
		n, err := strconv.Atoi(string(f[i]))
		if err != nil {
			return ids, false
		}
		ids[i] = n
	}
	return ids, true
}

// readStatus reads the status file of a process. It may be long: it lists all groups. os.ReadFile
// would start the runtime's poller for it, in each ptrace-event.
func readStatus(dir string) ([]byte, error) {
	fd, err := retryInt(func() (int, error) { return unix.Open(dir+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 4096)
	for {
		n, err := retryInt(func() (int, error) { return unix.Read(fd, b[len(b):cap(b)]) })
		if n <= 0 || err != nil {
			return b, err
		}
		b = slices.Grow(b[:len(b)+n], 1024)
	}
}

func statusLine(status []byte, key string) []byte {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok {
			return bytes.TrimSpace(rest)
		}
	}
	return nil
}

const capSysPtrace = 19

// hasCap reports whether this thread has a capability. Where it cannot know, it has none. The error is that
// of a full descriptor table.
func hasCap(n uint) (bool, error) {
	b, err := readStatus("/proc/thread-self")
	if full(err) {
		return false, err
	}
	set, err := strconv.ParseUint(string(statusLine(b, "CapEff:")), 16, 64)
	return err == nil && set>>n&1 != 0, nil
}
