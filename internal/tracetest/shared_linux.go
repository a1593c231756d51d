package tracetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Files in shared memory stay until a process removes them, and a process that outlives its test makes its
// trace directory again. So such a directory has a name that no other has, the test run that made it holds
// a lock on it, and its removal begins with the processes that use it. A run that was killed removes
// nothing: the next one finds its directories without a lock.

const sharedPattern = "posixtrace-test-run-"

// sharedBase is where trace directories are by default.
func sharedBase() string {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

// makeShared makes a directory of mode 0700, and removes those of dead runs. release unlocks it.
func makeShared() (dir string, release func(), err error) {
	base := sharedBase()
	for range 100 { // another run may take it for that of a dead one before it is locked
		if dir, err = os.MkdirTemp(base, sharedPattern); err != nil {
			break
		}
		if f := lockShared(dir); f != nil {
			sweepShared(base)
			return dir, func() { f.Close() }, nil
		}
	}
	return "", nil, err
}

// sweepShared removes the directories of dead runs, and those with their names and a suffix.
func sweepShared(base string) {
	list, _ := filepath.Glob(filepath.Join(base, sharedPattern+"*"))
	for _, dir := range list {
		if filepath.Ext(dir) != "" {
			continue
		}
		if f := lockShared(dir); f != nil {
			removeShared(dir)
			f.Close()
		}
	}
}

// SharedDir makes a directory in shared memory. It disappears with the test, as do directories of the same
// name and a suffix, such as .65534.
func SharedDir(t testing.TB) string {
	t.Helper()
	dir, release, err := makeShared()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer release()
		if !removeShared(dir) {
			t.Errorf("%s: cannot be removed", dir)
		}
	})
	return dir
}

// UserDir makes a directory for processes of another user: every user can enter it, and that user
// owns the one in it, which UserDir returns.
func UserDir(t testing.TB, uid, gid int) string {
	t.Helper()
	dir := SharedDir(t)
	own := filepath.Join(dir, "user")
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(own, 0o700), os.Chown(own, uid, gid)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return own
}

// removeShared ends the processes that use a directory, and removes it.
func removeShared(dir string) bool {
	const patience = 20 * time.Second
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		agents, others := usersOf(dir)
		if late := time.Now().After(end); late || len(agents) == 0 {
			others = append(others, agents...)
			agents = nil
		}
		// An agent shuts the streams of its program down when that has ended.
		for _, pid := range others {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(agents)+len(others) > 0 && time.Now().Before(end.Add(patience)) {
			continue
		}
		with, _ := filepath.Glob(dir + ".*")
		for _, d := range append(with, dir) {
			os.RemoveAll(d)
		}
		if with, _ = filepath.Glob(dir + "*"); len(with) == 0 || time.Now().After(end) {
			return len(with) == 0
		}
	}
}

// usersOf returns the processes whose environment has a trace directory that is dir, below it, or dir with
// a suffix: agents, and others than this process.
func usersOf(dir string) (agents, others []int) {
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range list {
		env, _ := os.ReadFile(filepath.Join(proc, "environ"))
		_, rest, ok := bytes.Cut(append([]byte{0}, env...), []byte("\x00PTRACE_DIR="+dir))
		pid, err := strconv.Atoi(filepath.Base(proc))
		if !ok || err != nil || pid == os.Getpid() || len(rest) > 0 && rest[0] != 0 && rest[0] != '/' && rest[0] != '.' {
			continue
		}
		if name, _ := os.ReadFile(filepath.Join(proc, "comm")); strings.HasPrefix(string(name), "posixtrace-agen") {
			agents = append(agents, pid)
		} else {
			others = append(others, pid)
		}
	}
	return agents, others
}

// lockShared locks a directory. It returns nil if another process has it locked, or has removed it.
func lockShared(dir string) *os.File {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	var st unix.Stat_t
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink > 0 {
		if now, err := os.Stat(dir); err == nil {
			if then, err := f.Stat(); err == nil && os.SameFile(now, then) {
				return f
			}
		}
	}
	f.Close()
	return nil
}
