package posixtrace

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool/early"
)

// helpers are what this test binary does when it is started again as another
// process, by name.
var helpers = map[string]func(args []string){}

// The tests, and what they start, are not connected before main, but for one helper.
var _ = func() bool {
	early.Refused = os.Getenv(helperVar) != earlyHelper
	return early.Refused
}()

const helperVar = "POSIXTRACE_TEST_HELPER"

// TestMain gives the tests a trace directory of their own and fails the run
// when they leave shared files, descriptors or mappings behind.
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
		for _, l := range append(leaks(dir), mappedStill()...) {
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

// mappedStill lists the streams and pages that are still mapped when nothing is open any
// more, but for the process's own page. A mapping goes with the last reference to it,
// not with Close or Shutdown, after which a trace point of another goroutine may still be
// on its way through it; so it takes a few garbage collections.
func mappedStill() (list []string) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		if list = mappings(); len(list) == 0 || time.Now().After(deadline) {
			return list
		}
	}
}

var mappedFile = regexp.MustCompile(`/(s-[0-9a-f]{16}|[pt]-[0-9]+-[0-9a-f-]+)( \(deleted\))?$`)

func mappings() (list []string) {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return []string{err.Error()}
	}
	own := fmt.Sprintf("/p-%d-", os.Getpid())
	for l := range strings.Lines(string(b)) {
		_, path, _ := strings.Cut(strings.TrimSpace(l), "/")
		if path = "/" + path; !mappedFile.MatchString(path) {
			continue
		}
		if strings.Contains(path, own) && own != "" {
			own = "" // once
			continue
		}
		list = append(list, "mapping of "+path)
	}
	return list
}

// quick keeps a process with the race detector from sleeping a second when it
// exits.
const quick = "GORACE=atexit_sleep_ms=0"
