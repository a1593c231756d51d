// Package leaderless makes processes whose main thread has ended, for tests.
package leaderless

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const name = "leaderless"

func init() {
	if filepath.Base(os.Args[0]) == name {
		runtime.LockOSThread() // to the main thread
	}
}

// Become ends the main thread of this process. The process lives until its standard input
// ends.
func Become() {
	go func() {
		for {
			if p, err := os.ReadFile("/proc/self/stat"); err != nil || strings.Contains(string(p), ") Z ") {
				break
			}
			time.Sleep(time.Millisecond)
		}
		fmt.Println("started")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	unix.Syscall(unix.SYS_EXIT, 0, 0, 0) // of this thread
}

// Start starts such a process and returns a function that ends it. The test binary calls
// Become where it is executed by the name of this package.
func Start(t *testing.T) (pid int, end func()) {
	t.Helper()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{name}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			in.Close()
			cmd.Wait()
		}
	}
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process.Pid, end
}
