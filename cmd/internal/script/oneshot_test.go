package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"

	_ "github.com/posixtrace/posixtrace/cmd/internal/startup/idle" // as in cmd/ptrace-event
	_ "github.com/posixtrace/posixtrace/cmd/internal/startup/plain"
)

// installedEvent builds ptrace-event as scripts/install does, and makes a trace directory.
func installedEvent(t *testing.T) (event, traces string) {
	t.Helper()
	tracetest.OnlyWithoutRace(t) // the build is the same
	tracetest.Only(t, runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64", "on processors that package idle knows")
	event = filepath.Join(t.TempDir(), "ptrace-event")
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", event, "../../ptrace-event")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(traces) })
	return event, traces
}

// ptrace-event NAME initializes the Go runtime alone where there is no stream. Where there is
// one, it does not initialize the packages and the libraries of other command lines.
func TestPlainInitializes(t *testing.T) {
	event, traces := installedEvent(t)
	started := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`)
	bytes := 0 // that the packages of pkg/posixtrace allocate
	run := func(argv ...string) (packages []string) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
		for _, m := range started.FindAllStringSubmatch(string(out), -1) {
			packages = append(packages, m[1])
			if n, err := strconv.Atoi(m[2]); err == nil && strings.Contains(m[1], "/pkg/posixtrace") {
				bytes += n
			}
		}
		return packages
	}
	for _, p := range run(event, "build.step", "data") {
		if p != "runtime" && !strings.HasPrefix(p, "internal/") {
			t.Errorf("without a stream, ptrace-event initializes %s", p)
		}
	}
	const library = "github.com/urfave/cli/v2"
	if packages := run(event, "-p1", "build.step"); !slices.Contains(packages, library) {
		t.Errorf("with an option, ptrace-event does not initialize %s: %q", library, packages)
	}
	run("ptrace-create", "mine")
	bytes = 0
	packages := run(event, "build.step", "data")
	if bytes == 0 || bytes > 1536 {
		t.Errorf("pkg/posixtrace allocates %d bytes when it is initialized: which variables can be computed later?", bytes)
	}
	run("ptrace-ctl", "shutdown", "mine")
	if !slices.Contains(packages, "github.com/posixtrace/posixtrace/pkg/posixtrace") {
		t.Errorf("with a stream, ptrace-event does not record: %q", packages)
	}
	for _, p := range packages {
		if p == library || strings.HasPrefix(p, "text/template") || strings.HasPrefix(p, "net/") ||
			strings.HasSuffix(p, "/internal/streams") || strings.HasSuffix(p, "/internal/event") && strings.Contains(p, "/cmd/") {
			t.Errorf("with a stream, ptrace-event initializes %s", p)
		}
	}
}

// Where there is no stream, ptrace-event NAME makes four system calls of its own before it
// ends. Those of the runtime vary.
func TestPlainCalls(t *testing.T) {
	event, traces := installedEvent(t)
	empty := t.TempDir()
	if err := os.Chmod(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	runtimes := []string{"futex", "nanosleep", "clock_nanosleep", "gettid", "sigaltstack", "rt_sigprocmask", "mmap", "munmap",
		"madvise", "clone", "sched_getaffinity", "sched_yield", "pread64", "getpid", "tgkill", "rt_sigreturn"}
	var calls []string
	for _, c := range ourCalls(t, ".", traces, nil, []string{"env", "PTRACE_DIR=" + empty, "PTRACE_SPOOL=", event, "build.step", "data"}) {
		if len(calls) > 0 && !slices.Contains(runtimes, c.name) || strings.HasPrefix(c.args, "PR_GET_DUMPABLE") {
			calls = append(calls, c.name)
		}
	}
	if want := []string{"prctl", "openat", "getdents64", "getdents64", "exit_group"}; !slices.Equal(calls, want) {
		t.Errorf("ptrace-event calls %q, want %q", calls, want)
	}
}
