package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// The names of the files. A parser accepts exactly what the function that makes the name returns.

func streamName(id uint64) string { return fmt.Sprintf("s-%016x", id) }

func spoolName(id uint64) string { return fmt.Sprintf("l-%016x", id) }

func namesName(family uint64) string { return fmt.Sprintf("n-%016x", family) }

func pageName(p sys.Proc) string { return fmt.Sprintf("p-%d-%d", p.PID, p.Start) }

func tempName(p sys.Proc, namespace, id uint64) string {
	return fmt.Sprintf("t-%d-%d-%d-%016x", p.PID, p.Start, namespace, id)
}

// ownTempName returns the name of a file that this process is making.
func ownTempName(id uint64) string { return tempName(sys.SelfProc(), sys.PIDNamespace(), id) }

func parseID(name, prefix string) (uint64, bool) {
	hex, ok := strings.CutPrefix(name, prefix)
	if !ok || len(hex) != 16 {
		return 0, false
	}
	id, err := strconv.ParseUint(hex, 16, 64)
	return id, err == nil && id != 0 && name == fmt.Sprintf("%s%016x", prefix, id)
}

func parseStreamName(name string) (uint64, bool) { return parseID(name, "s-") }

func parseNamesName(name string) (uint64, bool) { return parseID(name, "n-") }

func parsePageName(name string) (sys.Proc, bool) {
	rest, ok := strings.CutPrefix(name, "p-")
	if !ok {
		return sys.Proc{}, false
	}
	p, ok := parseProc(rest)
	return p, ok && name == pageName(p)
}

// parseTempName returns the process that made the file, and its pid namespace.
func parseTempName(name string) (p sys.Proc, namespace uint64, ok bool) {
	f := strings.Split(name, "-")
	if len(f) != 5 || f[0] != "t" {
		return p, 0, false
	}
	namespace, err := strconv.ParseUint(f[3], 10, 64)
	p, ok = parseProc(f[1] + "-" + f[2])
	return p, namespace, ok && err == nil
}

func parseProc(s string) (sys.Proc, bool) {
	a, b, ok := strings.Cut(s, "-")
	if !ok {
		return sys.Proc{}, false
	}
	pid, err1 := strconv.ParseUint(a, 10, 22)
	start, err2 := strconv.ParseUint(b, 10, 64)
	return sys.Proc{PID: uint32(pid), Start: start}, err1 == nil && err2 == nil && pid != 0
}

// randomID returns a random number that is not zero.
func randomID() uint64 {
	for {
		if id := sys.Random64(); id != 0 {
			return id
		}
	}
}

// createTemp creates a file of size bytes under a temporary name and allocates all of it.
func (d *Dir) createTemp(id uint64, size int64) (f *os.File, name string, err error) {
	name = ownTempName(id)
	f, err = sys.OpenAt(d.f, name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, "", fmt.Errorf("create %s: %w", filepath.Join(d.path, name), err)
	}
	if err = f.Chmod(0o600); err == nil { // undo the umask
		err = sys.Allocate(f, size)
	}
	if err != nil {
		f.Close()
		sys.UnlinkAt(d.f, name)
		return nil, "", err
	}
	return f, name, nil
}

// openOwn opens a file of the registry itself.
func (d *Dir) openOwn(name string, flags int) (*os.File, error) {
	f, err := sys.OpenChecked(d.f, name, flags|syscall.O_NONBLOCK, 0o600, checkFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(d.path, name), err)
	}
	if flags&os.O_CREATE != 0 {
		st, err := sys.Fstat(f)
		if err == nil && st.Perm() != 0o600 {
			err = f.Chmod(0o600) // a umask took the owner's rights
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return f, nil
}

// checkFile refuses a file that cannot be ours, or that another user may control.
func checkFile(st *sys.FileStat) error {
	uid := uint32(os.Geteuid())
	switch {
	case !st.Regular():
		return fmt.Errorf("not a regular file: %w", syscall.EINVAL)
	case st.UID != uid && uid != 0:
		return fmt.Errorf("owned by another user: %w", syscall.EACCES)
	case st.Perm()&0o22 != 0:
		return fmt.Errorf("others may write to it (mode %04o): %w", st.Perm(), syscall.EACCES)
	case st.Nlink > 1:
		return fmt.Errorf("has %d names: %w", st.Nlink, syscall.EINVAL)
	}
	return nil
}
