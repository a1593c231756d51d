package posixtrace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// helpers are what this test binary does when it is started again as another
// process, by name.
var helpers = map[string]func(args []string){}

const helperVar = "POSIXTRACE_TEST_HELPER"

// TestMain gives the tests a trace directory of their own and fails the run
// when they leave shared files or descriptors behind.
func TestMain(m *testing.M) {
	if name := os.Getenv(helperVar); name != "" {
		f, ok := helpers[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "no helper %q\n", name)
			os.Exit(2)
		}
		os.Unsetenv(helperVar)
		f(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	base := os.TempDir()
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		base = "/dev/shm"
	}
	dir, err := os.MkdirTemp(base, "posixtrace-test-") // mode 0700
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("PTRACE_DIR", dir)
	os.Unsetenv("PTRACE_STREAM")
	code := m.Run()
	if code == 0 {
		for _, l := range leaks(dir) {
			fmt.Fprintln(os.Stderr, "left behind:", l)
			code = 1
		}
	}
	return code
}

// leaks lists the streams that the tests left in the trace directory, and the
// descriptors that they left open on any file in it or on a log.
func leaks(dir string) (list []string) {
	files, _ := filepath.Glob(filepath.Join(dir, "[st]-*"))
	list = append(list, files...)
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		to, err := os.Readlink(fd)
		if err != nil {
			continue
		}
		name := filepath.Base(to)
		if filepath.Dir(to) == dir && (strings.HasPrefix(name, "s-") || strings.HasPrefix(name, "t-")) ||
			strings.HasSuffix(to, ".trace") || strings.HasSuffix(to, ".trace (deleted)") {
			list = append(list, "descriptor "+to)
		}
	}
	return list
}

// quick keeps a process with the race detector from sleeping a second when it
// exits.
const quick = "GORACE=atexit_sleep_ms=0"
