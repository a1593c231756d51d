package tracetest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Helpers are the programs that a test binary can be when a test starts it again as another
// process, by name. An init function of a test file adds its own.
var Helpers = map[string]func(args []string){}

// HelperVar names the helper to run, in the environment of a test binary.
const HelperVar = "POSIXTRACE_TEST_HELPER"

// Quick is an environment variable that keeps a process with the race detector from sleeping for a
// second when it exits.
const Quick = "GORACE=atexit_sleep_ms=0"

// AtEnd are functions that Main calls after the tests.
var AtEnd []func()

// Main is the TestMain of a test binary with helpers. It gives the tests their own trace directory
// and fails the run if they leave shared files, descriptors or mappings behind.
func Main(m *testing.M) {
	if name := os.Getenv(HelperVar); name != "" {
		f, ok := Helpers[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "no helper %q\n", name)
			os.Exit(2)
		}
		os.Unsetenv(HelperVar)
		f(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(run(m))
}

// withoutStream executes the test binary again without the stream of ptrace-run, if there is one: a process
// uses one trace directory, and this one has come to that of the stream before main.
func withoutStream() error {
	if os.Getenv("PTRACE_STREAM") == "" {
		return nil
	}
	os.Unsetenv("PTRACE_STREAM")
	exe, err := os.Executable()
	if err == nil {
		err = syscall.Exec(exe, os.Args, os.Environ())
	}
	return err
}

func run(m *testing.M) int {
	if err := withoutStream(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, release, err := makeShared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer release()
	defer os.RemoveAll(dir)
	os.Setenv("PTRACE_DIR", dir)
	code := m.Run()
	for _, f := range AtEnd {
		f()
	}
	if code == 0 {
		for _, l := range append(Leaks(dir), stillMapped()...) {
			fmt.Fprintln(os.Stderr, "left behind:", l)
			code = 1
		}
	}
	return code
}

// Leaks lists the streams in the trace directory, and the descriptors that the process
// has open on a file in it or on a log.
func Leaks(dir string) (list []string) {
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

// stillMapped lists the mappings that remain when everything is closed. A trace point of
// another goroutine may use a mapping after Close or Shutdown, so a garbage collection
// unmaps it, after its last reference. That takes a few collections.
func stillMapped() (list []string) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		if list = Mappings(); len(list) == 0 || time.Now().After(deadline) {
			return list
		}
	}
}

var mappedFile = regexp.MustCompile(`/(s-[0-9a-f]{16}|[pt]-[0-9]+-[0-9a-f-]+)( \(deleted\))?$`)

// Mappings lists the streams and pages that the process maps, except its own page.
func Mappings() (list []string) {
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
