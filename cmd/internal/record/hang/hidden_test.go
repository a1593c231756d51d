//go:build linux

package hang_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
)

// role is the variable that says which process of TestHidden this is.
const role = "HANG_ROLE"

// again starts this program in a role. It ends with this one.
func again(as string, files ...*os.File) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestHidden$")
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = files
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Look does not call a thread stuck that waits for what a process of its tree may have open that it may not
// look at. Without privileges, one that is not dumpable is such a process.
func TestHidden(t *testing.T) {
	switch os.Getenv(role) {
	case "hides":
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		fmt.Println("hidden")
		time.Sleep(time.Minute)
	case "waits": // for what it could write itself, as the one that hides
		runtime.LockOSThread() // the child gets a signal if the thread that started it ends
		var p [2]int
		unix.Pipe2(p[:], unix.O_CLOEXEC)
		cmd := again("hides", os.NewFile(uintptr(p[1]), ""))
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 1))
		unix.Dup3(p[0], 0, 0)
		unix.Dup3(p[1], 3, 0)
		t.Fatal(unix.Exec("/bin/cat", []string{"cat"}, nil)) // which has one thread
	case "looks":
		cmd := again("waits")
		cmd.SysProcAttr.Setpgid = true
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			for _, o := range hang.Look([]int{cmd.Process.Pid}, hang.Options{}).Threads {
				if strings.HasPrefix(o.Call, "read(") && strings.HasPrefix(o.For, "the writer of pipe:") {
					fmt.Printf("LOOK stuck=%v cycle=%v for %s\n", o.Stuck, o.Cycle, o.For)
					return
				}
			}
		}
	default:
		cmd := again("looks")
		if os.Geteuid() == 0 {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		}
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), "LOOK stuck=false cycle=false for the writer of pipe:") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
