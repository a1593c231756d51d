//go:build linux

package hang_test

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// The race detector would add calls to it.
//
//go:noinline
//go:norace
func burn() {
	for {
		burned++
	}
}

var burned int

// burnSize bounds the instructions of burn.
const burnSize = 32

// Look says where a busy thread spends its time.
func TestBusyPlace(t *testing.T) {
	if os.Getenv(role) == "burns" {
		pc := uint64(reflect.ValueOf(burn).Pointer())
		m, err := tool.Mapping(os.Getpid(), pc)
		fmt.Println(pc-m.Start+m.Offset, err)
		burn()
	}
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	tracetest.Need(t, err == nil, "perf_event_open(2)")
	unix.Close(fd)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestBusyPlace$")
	cmd.Env = append(os.Environ(), role+"=burns")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var from uint64
	var none string
	if _, err := fmt.Fscan(out, &from, &none); err != nil || none != "<nil>" {
		t.Fatal(err, none)
	}
	self, _ := os.Executable()
	like := regexp.MustCompile(`^in [0-9]+ of [0-9]+ looks in (.*), most often at (0x[0-9a-f]+)$`)
	last := ""
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		r := hang.Look([]int{cmd.Process.Pid}, hang.Options{})
		for _, o := range r.Threads {
			if f := like.FindStringSubmatch(o.Note); f != nil && f[1] == self {
				if at, _ := strconv.ParseUint(f[2], 0, 64); at >= from && at < from+burnSize {
					return
				}
			}
		}
		last = string(r.AppendText(nil, 20))
	}
	t.Errorf("no thread is busy in %s at %#x:\n%s", self, from, last)
}
