package sys

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// This program is started as an ordinary user: without special rights of its file, set-user-ID,
// set-group-ID, and with a capability.
func TestSecure(t *testing.T) {
	tracetest.OnlyWithoutEmulator(t)
	tracetest.NeedRoot(t)
	if Secure() {
		t.Error("Secure = true for root's own program")
	}
	dir, err := os.MkdirTemp("", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// One capability, effective: version 2 of the kernel's vfs_cap_data.
	capability := make([]byte, 20)
	binary.LittleEndian.PutUint32(capability, 0x02000001)
	binary.LittleEndian.PutUint32(capability[4:], 1<<unix.CAP_NET_RAW)
	for _, tt := range []struct {
		name string
		mark func(path string) error
		want string
	}{
		{"plain", func(string) error { return nil }, "false"},
		{"setuid", func(path string) error { return os.Chmod(path, 0o755|os.ModeSetuid) }, "true"},
		{"setgid", func(path string) error { return os.Chmod(path, 0o755|os.ModeSetgid) }, "true"},
		{"capability", func(path string) error { return unix.Setxattr(path, "security.capability", capability, 0) }, "true"},
	} {
		path := filepath.Join(dir, tt.name)
		if err := copySelf(path); err != nil {
			t.Fatal(err)
		}
		if err := tt.mark(path); err != nil {
			tracetest.Need(t, !errors.Is(err, unix.EOPNOTSUPP), "a file system that has "+tt.name)
			t.Fatal(err)
		}
		cmd := exec.Command(path)
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), "SYS_ROLE=secure", "GORACE=atexit_sleep_ms=0")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != tt.want {
			t.Errorf("%s: %q, %v; want %s", tt.name, out, err, tt.want)
		}
	}
}

func copySelf(path string) error {
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return errors.Join(out.Close(), os.Chmod(path, 0o755))
}
