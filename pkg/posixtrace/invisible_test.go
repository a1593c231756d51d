package posixtrace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A process may not see others: it depends on namespaces, mounts and permissions. A scene is a
// pid namespace with a traced process and the owner of its stream. A viewer in it sees little
// or nothing of them, and must not take a live process for dead.

func init() {
	tracetest.Helpers["hidden-scene"] = hiddenScene
	tracetest.Helpers["hidden-owner"] = hiddenOwner
	tracetest.Helpers["hidden-view"] = hiddenView
	tracetest.Helpers["hidden-look"] = hiddenLook
}

// hiddenViews are the changes that a viewer makes to its surroundings.
var hiddenViews = map[string]struct {
	attr  syscall.SysProcAttr
	apply func() error
	// sees: the viewer finds the stream. knows: it also detects the death of the owner.
	sees, knows bool
}{
	"plain":                 {apply: func() error { return nil }, sees: true, knows: true},
	"hidepid=1":             {apply: procWith("hidepid=1"), sees: true, knows: true},
	"hidepid=2":             {apply: procWith("hidepid=2"), sees: true, knows: true},
	"subset=pid":            {apply: procWith("subset=pid"), sees: true, knows: true},
	"hidepid=2,subset=pid":  {apply: procWith("hidepid=2,subset=pid"), sees: true, knows: true},
	"no proc":               {apply: noProc},
	"proc of another space": {apply: func() error { return unix.Unmount("/proc", unix.MNT_DETACH) }, sees: true, knows: true},
	"chroot":                {apply: newRoot},
	"landlock":              {apply: landlock, sees: true, knows: true},
	"other pids":            {attr: syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}, apply: procWith("")},
	"other pids, old proc":  {attr: syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}, apply: func() error { return nil }},
}

func procWith(options string) func() error {
	return func() error {
		err := unix.Mount("proc", "/proc", "proc", 0, options+",gid=65534")
		if err == unix.EINVAL { // in a user namespace, where there is no such group, and ours is not root's
			err = unix.Mount("proc", "/proc", "proc", 0, options)
		}
		return err
	}
}

func noProc() error { return unix.Mount("none", "/proc", "tmpfs", 0, "") }

func newRoot() error {
	dir := os.Getenv("PTRACE_DIR") + "/root"
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = unix.Mount("/", dir, "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err == nil {
		err = unix.Mount("none", dir+"/proc", "tmpfs", 0, "")
	}
	if err == nil {
		err = unix.Chroot(dir)
	}
	if err == nil {
		err = os.Chdir("/")
	}
	return err
}

// landlock denies all opens below /proc.
func landlock() error {
	const rights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rules := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	fd, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), 8, 0)
	if no != 0 {
		return no
	}
	list, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Name() == "proc" || !e.IsDir() {
			continue
		}
		dir, err := unix.Open("/"+e.Name(), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(dir)}
		if _, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, fd, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); no != 0 {
			return no
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, no := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); no != 0 {
		return no
	}
	return nil
}

// hiddenPart starts a helper of the scene, which answers each line with a line.
func hiddenPart(attr *syscall.SysProcAttr, name string, args ...string) (*exec.Cmd, func(line string) string) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), tracetest.HelperVar+"="+name, tracetest.Quick)
	cmd.SysProcAttr = attr
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	tracetest.Check(err == nil, "%s: %v", name, err)
	out, err := cmd.StdoutPipe()
	tracetest.Check(err == nil, "%s: %v", name, err)
	tracetest.Check(cmd.Start() == nil, "%s does not start", name)
	lines := bufio.NewReader(out)
	return cmd, func(line string) string {
		if line != "" {
			fmt.Fprintln(in, line)
		}
		s, err := lines.ReadString('\n')
		tracetest.Check(err == nil, "%s: %q, %v", name, s, err)
		return strings.TrimSpace(s)
	}
}

// hiddenOwner owns a stream with log on process args[0]. It makes itself not dumpable, which hides its /proc.
func hiddenOwner(args []string) {
	pid, _ := strconv.Atoi(args[0])
	f, err := os.OpenFile(args[1], os.O_RDWR|os.O_CREATE, 0o600)
	tracetest.Check(err == nil, "OpenFile: %v", err)
	s, err := CreateWithLog(pid, &Attr{Name: "hidden", LogFullPolicy: PolicyAppend, StreamFullPolicy: PolicyUntilFull}, f)
	tracetest.Check(err == nil, "CreateWithLog: %v", err)
	err = s.Start()
	tracetest.Check(err == nil, "Start: %v", err)
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	fmt.Println(os.Getpid())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(s.Flush())
	}
}

func hiddenScene(args []string) {
	view := hiddenViews[args[0]]
	err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = procWith("")()
	}
	tracetest.Check(err == nil, "cannot: mount /proc: %v", err)
	dir := os.Getenv("PTRACE_DIR")
	log := filepath.Join(dir, "log")
	targetCmd, target := hiddenPart(nil, "target")
	pid := target("")
	ownerCmd, owner := hiddenPart(nil, "hidden-owner", pid, log)
	ownerPID := owner("")
	_, err = strconv.Atoi(ownerPID)
	tracetest.Check(err == nil, "owner: %s", ownerPID)
	tracetest.Check(target("hidden.event one") == "done", "target")
	pages, _ := filepath.Glob(filepath.Join(dir, "p-"+pid+"-*"))
	tracetest.Check(len(pages) == 1, "pages of the traced process: %q", pages)
	page, err := os.Stat(pages[0])
	tracetest.Check(err == nil, "%v", err)
	look := func(alive bool) {
		attr := view.attr
		cmd := exec.Command(os.Args[0], args[0], pid, ownerPID, log, fmt.Sprint(alive))
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=hidden-view", tracetest.Quick)
		cmd.SysProcAttr = &attr
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		tracetest.Check(err == nil && strings.TrimSpace(string(out)) == "ok", "the viewer: %v\n%s", err, out)
		os.Remove(dir + "/root")
	}
	look(true)
	now, err := os.Stat(pages[0])
	tracetest.Check(err == nil && os.SameFile(now, page), "the page of the traced process is another: %v", err)
	flushed := owner("flush")
	tracetest.Check(flushed == "<nil>", "Flush of the living owner: %v", flushed)
	tracetest.Check(target("hidden.event two") == "done", "target")
	flushed = owner("flush")
	tracetest.Check(flushed == "<nil>", "second Flush of the living owner: %v", flushed)
	list, err := List()
	tracetest.Check(err == nil && len(list) == 1 && strconv.Itoa(list[0].Owner) == ownerPID, "List: %+v, %v", list, err)
	ownerCmd.Process.Kill()
	ownerCmd.Wait()
	look(false)
	left, _ := filepath.Glob(filepath.Join(dir, "s-*"))
	tracetest.Check(len(left) == 0 || !view.knows, "the stream of a dead owner is left")
	List() // completes the log if necessary
	f, err := os.Open(log)
	tracetest.Check(err == nil, "%v", err)
	r, err := NewReader(f)
	tracetest.Check(err == nil, "NewReader: %v", err)
	var got []string
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		tracetest.Check(err == nil, "Next: %v", err)
		if rec.ID.User() {
			got = append(got, string(rec.Data))
		}
	}
	tracetest.Check(strings.Join(got, " ") == "one two", "the log has %q", got)
	targetCmd.Process.Kill()
	targetCmd.Wait()
	fmt.Println("ok")
}

// hiddenView changes its surroundings and executes hidden-look.
func hiddenView(args []string) {
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNS)
	tracetest.Check(err == nil, "cannot: unshare: %v", err)
	exe, err := os.Open("/proc/self/exe")
	tracetest.Check(err == nil, "%v", err)
	defer exe.Close()
	err = hiddenViews[args[0]].apply()
	tracetest.Check(err == nil, "cannot: %s: %v", args[0], err)
	for c := range uintptr(64) {
		unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	err = syscall.Exec(os.Args[0], os.Args, append(os.Environ(), tracetest.HelperVar+"=hidden-look"))
	tracetest.Check(false, "exec: %v", err)
}

// hiddenLook makes all calls about processes that it may not see.
func hiddenLook(args []string) {
	view := hiddenViews[args[0]]
	target, _ := strconv.Atoi(args[1])
	owner, _ := strconv.Atoi(args[2])
	alive := args[4] == "true"
	d, err := conn.OpenDir()
	tracetest.Check(err == nil, "openDir: %v", err)
	if alive && view.attr.Cloneflags == 0 {
		for _, pid := range []int{target, owner} {
			p, err := sys.Lookup(pid)
			tracetest.Check(!errors.Is(err, syscall.ESRCH), "Lookup of the living %d: %v", pid, err)
			if err != nil {
				p = sys.Proc{PID: uint32(pid), Start: 1}
			}
			tracetest.Check(p.Alive(), "%d is alive", pid)
			err = sys.MayTrace(p)
			tracetest.Check(!errors.Is(err, syscall.ESRCH), "MayTrace of the living %d: %v", pid, err)
		}
		tracetest.Check(sys.SelfProc().Alive(), "the viewer is dead to itself")
		tracetest.Check(sys.Proc{PID: uint32(os.Getpid())}.Alive(), "a process whose start is not known is dead")
	}
	list, err := List()
	tracetest.Check(err == nil, "List: %v", err)
	tracetest.Check(len(list) == 0 || alive, "List: %+v", list)
	tracetest.Check(len(list) == 1 && list[0].Owner == owner || !view.sees || !alive, "List: %+v", list)
	paths, _ := filepath.Glob(filepath.Join(d.Path(), "s-*"))
	for _, path := range append(paths, "hidden") {
		if s, err := Attach(path); err == nil {
			s.Status()
			s.Close()
		}
	}
	if f, err := os.Open(args[3]); err == nil {
		if r, err := NewReader(f); err == nil {
			for {
				if _, err := r.Next(); err != nil {
					break
				}
			}
		}
		f.Close()
	}
	if p, err := OpenProcess(target); err == nil {
		p.OpenEventID("hidden.seen")
		p.Close()
	}
	if id, err := OpenEventID("hidden.mine"); err == nil {
		Event(id, nil)
	}
	// Without /proc no file of the directory is opened.
	if unlock, err := d.Lock(); !errors.Is(err, syscall.ENOSYS) {
		tracetest.Check(err == nil, "Lock: %v", err)
		err = (&creation{dir: d, takeRoom: true}).tidyUp()
		tracetest.Check(err == nil, "tidyUp: %v", err)
		d.Sweep(func(uint64) bool { return true }, nil)
		unlock()
	}
	fmt.Println("ok")
}

func TestInvisibleProcessIsNotDead(t *testing.T) {
	attr := syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	for name := range hiddenViews {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp(os.Getenv("PTRACE_DIR"), "hidden")
			tracetest.OK(t, "MkdirTemp", err)
			defer os.RemoveAll(dir)
			cmd := exec.Command(os.Args[0], name)
			cmd.Env = append(os.Environ(), tracetest.HelperVar+"=hidden-scene", tracetest.Quick, "PTRACE_DIR="+dir)
			own := attr
			cmd.SysProcAttr = &own
			var more bytes.Buffer // the race detector misses /proc
			cmd.Stderr = &more
			out, err := cmd.Output()
			says := strings.TrimSpace(string(out))
			var ended *exec.ExitError
			tracetest.Need(t, (err == nil || errors.As(err, &ended)) && !strings.Contains(says, "cannot: "), "namespaces and mounts of our own: "+says)
			if err != nil || says != "ok" {
				t.Errorf("%v\n%s\n%s", err, says, &more)
			}
		})
	}
}
