package test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// limited runs testdata/agent_limits.c under a limit of a resource. hard is "same", or "" for as it is.
func limited(t *testing.T, resource, soft int, hard string, what ...string) string {
	t.Helper()
	args := append([]string{filepath.Join(t.TempDir(), "log"), fmt.Sprint(resource), fmt.Sprint(soft), hard}, what...)
	return strings.TrimSpace(ctest.Run(t, agentProgram(t, "agent_limits.c"), args...))
}

// A controller whose descriptors are all taken creates streams, and reads logs. A hard limit is that of
// its agent, too: with less than the agent needs, the calls fail for lack of memory, or because the
// agent does not start.
func TestLimitOfDescriptors(t *testing.T) {
	if got := limited(t, syscall.RLIMIT_NOFILE, 4, ""); got != "0" {
		t.Errorf("with a soft limit: %s", got)
	}
	for n := range 24 {
		n += 4
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			switch got := limited(t, syscall.RLIMIT_NOFILE, n, "same"); {
			case got == "0":
			case n < 24 && got == fmt.Sprint(int(syscall.ENOMEM)):
			case n < 12 && got == fmt.Sprint(int(syscall.EIO)):
			default:
				t.Errorf("error %s", got)
			}
		})
	}
}

// The streams of a controller that is at its limit go on to work, and there is room for another one when
// one is gone.
func TestLimitOfDescriptorsReached(t *testing.T) {
	var n, err int
	got := limited(t, syscall.RLIMIT_NOFILE, 60, "same", "many")
	if fmt.Sscan(got, &n, &err); n < 10 || n > 60 || err != int(syscall.ENOMEM) {
		t.Errorf("%s", got)
	}
}

// The soft limits of memory are for the application alone.
func TestLimitOfMemory(t *testing.T) {
	tracetest.Only(t, !ctest.Sanitized(), "without sanitizers, whose programs reserve memory")
	for what, resource := range map[string]int{"address space": syscall.RLIMIT_AS, "data": syscall.RLIMIT_DATA} {
		if got := limited(t, resource, 50<<20, ""); got != "0" {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := limited(t, syscall.RLIMIT_AS, 4<<20, ""); got != fmt.Sprint(int(syscall.ENOMEM)) {
		t.Errorf("without room for the channel: %s", got)
	}
}
