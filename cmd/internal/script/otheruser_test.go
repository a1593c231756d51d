package script_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

const nobody = 65534

// userRun runs a command as another user, with PTRACE_DIR and more variables in its
// environment.
func userRun(t *testing.T, uid uint32, env []string, args ...string) (out string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	exe := openProgram(t, args[0])
	defer exe.Close()
	cmd := exec.CommandContext(ctx, "/proc/self/fd/3")
	cmd.Args, cmd.ExtraFiles = args, []*os.File{exe}
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}, env...)
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		t.Fatalf("%q: %v, %v", args, err, ctx.Err())
	}
	return b.String(), cmd.ProcessState.ExitCode()
}

// openBase returns a directory that all users can enter, with one in it that all users can
// write to.
func openBase(t *testing.T) (base, shared string) {
	t.Helper()
	base = tracetest.SharedDir(t)
	shared = filepath.Join(base, "shared")
	if err := errors.Join(os.Chmod(base, 0o755), os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777|fs.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	return base, shared
}

// snapshot returns, for each file below a directory, what another user could have changed.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, path, st.Mode(), st.Sys().(*syscall.Stat_t).Uid, st.Sys().(*syscall.Stat_t).Ino)
		if st.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%q\n", data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Another user has planted something in place of the trace directory. Every command refuses
// it and reports why, or does nothing, and writes nothing.
func TestOtherUserPlantsDirectory(t *testing.T) {
	tracetest.Need(t, os.Geteuid() == 0, "root")
	base, shared := openBase(t)
	at := filepath.Join(shared, "dir")
	theirs := func(path string) error { return os.Lchown(path, nobody, nobody) }
	victim := filepath.Join(base, "victim")
	if err := os.Mkdir(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func() error{
		"symlink":          func() error { return os.Symlink(victim, at) },
		"dangling symlink": func() error { return os.Symlink(filepath.Join(base, "new"), at) },
		"their directory":  func() error { return os.Mkdir(at, 0o700) },
		"open directory":   func() error { return errors.Join(os.Mkdir(at, 0o700), os.Chmod(at, 0o777)) },
		"fifo":             func() error { return syscall.Mkfifo(at, 0o666) },
		"file":             func() error { return os.WriteFile(at, nil, 0o666) },
		"device":           func() error { return unix.Mknod(at, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(plant(), theirs(at)); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(at)
			before := snapshot(t, base)
			for _, dir := range []string{at, at + "/"} {
				env := []string{"PTRACE_DIR=" + dir}
				for _, args := range [][]string{
					{"ptrace-create", "x"}, {"ptrace-run", "-n", "x", "true"}, {"ptrace-ctl", "list"}, {"ptrace-ctl", "stop", "x"},
					{"ptrace-filter", "-S", "x"}, {"ptrace-dump", "-S", "x"}, {"ptrace-event", "-S", "x", "e"},
				} {
					out, status := userRun(t, 0, env, args...)
					if status == 0 || !strings.Contains(out, "refused: ") && !strings.Contains(out, "directory") {
						t.Errorf("%q: status %d, %q", args, status, out)
					}
				}
				if out, status := userRun(t, 0, env, "ptrace-event", "e"); status != 0 {
					t.Errorf("a trace point fails: %d, %q", status, out)
				}
			}
			if after := snapshot(t, base); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// Files planted in the trace directory are not followed, waited for, or written to.
func TestOtherUserPlantsFiles(t *testing.T) {
	tracetest.Need(t, os.Geteuid() == 0, "root")
	base, _ := openBase(t)
	dir, victim := filepath.Join(base, "dir"), filepath.Join(base, "victim")
	const secret = "nobody's business"
	self := os.Getpid()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+2:])[19]
	for _, file := range []string{"lock", "s-0000000000000001", fmt.Sprintf("p-%d-%s", self, start), "n-0000000000000001", "l-0000000000000001", "t-1-1-0000000000000001"} {
		for name, plant := range map[string]func(path string) error{
			"symlink":   func(path string) error { return os.Symlink(victim, path) },
			"hard link": func(path string) error { return os.Link(victim, path) },
			"fifo":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"directory": func(path string) error { return os.Mkdir(path, 0o700) },
			"device":    func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))) },
			"theirs": func(path string) error {
				return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, nobody, nobody))
			},
		} {
			t.Run(file[:1]+"/"+name, func(t *testing.T) {
				path := filepath.Join(dir, file)
				if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(victim, []byte(secret), 0o600), plant(path)); err != nil {
					t.Fatal(err)
				}
				defer os.Remove(victim)
				defer os.RemoveAll(dir)
				env := []string{"PTRACE_DIR=" + dir, "PTRACE_STREAM=" + filepath.Join(dir, "s-0000000000000001")}
				for _, args := range [][]string{
					{"ptrace-event", "-p", strconv.Itoa(self), "e"}, {"ptrace-dump", "-S", path}, {"ptrace-create", "-p", strconv.Itoa(self), "x"}, {"ptrace-ctl", "list"},
				} {
					if out, _ := userRun(t, 0, env, args...); strings.Contains(out, "panic") || strings.Contains(out, secret) {
						t.Errorf("%q: %s", args, out)
					}
				}
				if b, err := os.ReadFile(victim); err != nil || string(b) != secret {
					t.Errorf("the victim: %q, %v", b, err)
				}
			})
		}
	}
}

// Another user can read nothing of ours, and nothing that we record, with any umask.
func TestOtherUserGetsNothing(t *testing.T) {
	tracetest.Need(t, os.Geteuid() == 0, "root")
	base, shared := openBase(t)
	for _, uid := range []uint32{0, nobody} {
		for _, mask := range []int{0, 0o027, 0o077, 0o777} {
			dir := filepath.Join(shared, fmt.Sprintf("d-%d-%o", uid, mask))
			env := []string{"PTRACE_DIR=" + dir}
			find := []string{"ptrace-run", "-n", "x", "-o", dir + ".trace", "--", "find", dir, "-ignore_readdir_race", "-printf", `%m %y %U %p\n`}
			if err := os.WriteFile(dir+".trace", nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(dir+".trace", int(uid), int(uid)); err != nil {
				t.Fatal(err)
			}
			old := unix.Umask(mask)
			out, status := userRun(t, uid, env, find...)
			unix.Umask(old)
			if uid != 0 && mask == 0o777 && status != 0 {
				// Even the owner cannot enter such a directory. It is refused, not
				// repaired.
				if !strings.Contains(out, "ermission denied") {
					t.Errorf("umask 0777: status %d, %q", status, out)
				}
				continue
			}
			n := 0
			for line := range strings.Lines(out) {
				n++
				// A file under its temporary name may not have its owner's rights yet.
				early := strings.HasPrefix(line, fmt.Sprintf("%o f %d %s/t-", 0o600&^mask, uid, dir))
				if !early && !strings.HasPrefix(line, fmt.Sprintf("600 f %d ", uid)) && !strings.HasPrefix(line, fmt.Sprintf("700 d %d ", uid)) {
					t.Errorf("umask %o: %s", mask, line)
				}
			}
			if status != 0 || n < 4 {
				t.Fatalf("as %d with umask %o: %d, %q", uid, mask, status, out)
			}
			if uid == 0 {
				if out, status := userRun(t, uid, env, "ptrace-create", "-s", "x"); status != 0 {
					t.Fatal(out)
				}
				list, _ := filepath.Glob(dir + "/s-*")
				before := snapshot(t, dir)
				for _, e := range [][]string{env, {"PTRACE_DIR=" + filepath.Join(base, "shared", "own")}} {
					for _, args := range [][]string{
						{"ptrace-ctl", "stop", list[0]}, {"ptrace-ctl", "shutdown", list[0]}, {"ptrace-dump", list[0]}, {"ptrace-filter", "-S", list[0], "-x", "@all"},
						{"ptrace-event", "-S", list[0], "e"}, {"ptrace-create", "-p", strconv.Itoa(os.Getpid())}, {"ptrace-event", "--require", "-p", strconv.Itoa(os.Getpid()), "e"},
					} {
						if out, status := userRun(t, nobody, e, args...); status == 0 || !strings.Contains(out, "ermi") {
							t.Errorf("as nobody, %q: status %d, %q", args, status, out)
						}
					}
				}
				if after := snapshot(t, dir); after != before {
					t.Error("something has changed")
				}
				if out, status := userRun(t, uid, env, "ptrace-ctl", "shutdown", "x"); status != 0 {
					t.Errorf("%q", out)
				}
			}
		}
	}
}

// The environment of a traced command may contain secrets: it is not recorded anywhere.
func TestEnvironmentIsNotRecorded(t *testing.T) {
	base, _ := openBase(t)
	const secret = "hunter2-of-the-environment"
	dir, log := filepath.Join(base, "dir"), filepath.Join(base, "env.trace")
	env := []string{"PTRACE_DIR=" + dir, "PASSWORD=" + secret}
	needle := filepath.Join(base, "needle")
	if err := os.WriteFile(needle, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	out, status := userRun(t, uint32(os.Getuid()), env, "ptrace-run", "-o", log, "-c", "-e", "proc,signal,syscall.execve", "--", "sh", "-c", `
		ptrace-event e; (exec true); grep -rlaf `+needle+` `+dir+`; echo end`)
	if status != 0 || out != "end\n" {
		t.Fatalf("status %d, %q", status, out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(secret)) {
		t.Error("the environment is in the log")
	}
	if !bytes.Contains(b, []byte("ptrace-event")) {
		t.Error("the log is empty")
	}
	// Not as an argument of a system call either. The keeper of a log has it in its own
	// environment only.
	for _, args := range [][]string{
		{"ptrace-run", "-o", log, "-e", "proc,signal,syscall", "--", "sh", "-c", "ptrace-event e; ptrace-event -r e true; exec env true"},
		{"ptrace-run", "--dump=never", "sh", "-c", "ptrace-create -s -o " + log + " x; ptrace-event -S x e; ptrace-ctl flush -w x; grep -rlaf " + needle + " " + dir + "; ptrace-ctl shutdown x"},
	} {
		out, status := userRun(t, uint32(os.Getuid()), env, args...)
		if status != 0 || strings.Contains(out, dir) {
			t.Errorf("%q: status %d, %q", args, status, out)
		}
		if b, err := os.ReadFile(log); err != nil || len(b) < 1000 || bytes.Contains(b, []byte(secret)) {
			t.Errorf("%q: the log has %d bytes, or what it should not; %v", args, len(b), err)
		}
	}
}
