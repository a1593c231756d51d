package catalog

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func TestNames(t *testing.T) {
	for class, call := range map[string]string{"%file": "openat", "%net": "connect", "%network": "connect", "%%stat": "statx", "%pure": "getpid"} {
		names, ok := CallNames(class)
		if !ok || !slices.Contains(names, call) || !HasCall(class, call) {
			t.Errorf("%s: %v %v, want %s in it", class, names, ok, call)
		}
	}
	if _, ok := CallNames("%nosuch"); ok || HasCall("%nosuch", "openat") || HasCall("%file", "read") {
		t.Error("there is an unknown class, or a class has a call that it must not have")
	}
	if all := CallClasses(); len(all) != len(classes)+1 || !slices.IsSorted(all) {
		t.Errorf("the classes are %v", all)
	}
}

// callerEnv makes the test program the one whose calls strace shows.
const callerEnv = "CALLSET_CALLER"

// TestMain must run on the first thread, the only one that strace follows.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	if os.Getenv(callerEnv) != "" {
		makeEveryCall()
		panic("the program goes on") // its tests would start it again, without end
	}
	os.Exit(m.Run())
}

// key is the sixth argument of the calls that fail with ENOANO, whatever they are.
const key = 0x1234567

// makeEveryCall makes every system call, harmlessly: a filter makes them fail. The kernel runs
// the filter after strace has seen the call.
func makeEveryCall() {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16 + 5*8}, // the low half of the sixth argument
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: key},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOANO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		os.Exit(1)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		os.Exit(1)
	}
	for nr := range uintptr(470) {
		// uretprobe(2) and uprobe(2) are calls only for code that the kernel has written.
		if runtime.GOARCH != "amd64" || nr != 335 && nr != 336 {
			unix.RawSyscall6(nr, 0, 0, 0, 0, 0, key)
		}
	}
	// Not os.Exit, which leaves the key in the register of the sixth argument.
	unix.RawSyscall6(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
}

var failedCall = regexp.MustCompile(`(?m)^(\w+)\(.* ENOANO`)

// straceNames returns the calls that strace(1) shows of all calls, for its option -e trace.
func straceNames(t *testing.T, set string) []string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command("strace", "-o", out, "-e", "trace="+set, os.Args[0])
	cmd.Env = append(os.Environ(), callerEnv+"=1")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("strace -e trace=%s: %v: %s", set, err, msg)
	}
	shown, err := os.ReadFile(out)
	tracetest.OK(t, "output of strace", err)
	var names []string
	for _, m := range failedCall.FindAllStringSubmatch(string(shown), -1) {
		if !strings.HasPrefix(m[1], "syscall_0x") {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Each class has the calls that it has in strace(1), as far as strace knows them here.
func TestClassesLikeStrace(t *testing.T) {
	tracetest.NeedProgram(t, "strace")
	known := straceNames(t, "all")
	if len(known) < 250 {
		t.Fatalf("strace shows only %d calls", len(known))
	}
	for _, class := range CallClasses() {
		want := straceNames(t, class)
		got, _ := CallNames(class)
		got = slices.DeleteFunc(got, func(name string) bool { return !slices.Contains(known, name) })
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v\nin strace %v", class, got, want)
		}
	}
}
