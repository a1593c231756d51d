//go:build linux

package script_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// grows holds memory, notes how much it has and from when to when, and then has none for a while. The small one
// holds its memory while the large one does.
const grows = `
import os, sys, time
name, size, start = sys.argv[1], int(sys.argv[2]), os.stat("start").st_mtime
with open("/proc/self/comm", "w") as f: f.write(name)
def await_(file):
    end = time.time() + 60
    while not os.path.exists(file) and time.time() < end: time.sleep(0.01)
if name == "large": await_("ready")
x = bytearray(b"x") * (size << 20)
begin = time.time() - start
with open("/proc/self/statm") as f: pages = int(f.read().split()[1])
if name == "small":
    os.mkdir("ready")
    await_("large")
else: time.sleep(1)
with open(name + "~", "w") as f: print(begin, time.time() - start, pages * os.sysconf("SC_PAGE_SIZE"), file=f)
os.rename(name + "~", name)
del x
time.sleep(0.5)
`

var peakLine = regexp.MustCompile(`(?m)^peak memory: ([0-9.]+)M at (?:([0-9]+)m)?([0-9.]+)(m?s): large, ([0-9.]+)M; small, ([0-9.]+)M`)

// How large the memory of a tree was, when, and whose, is what its processes say of themselves.
func TestPeakMemory(t *testing.T) {
	tracetest.NeedProgram(t, "python3")
	dir := t.TempDir()
	log := filepath.Join(dir, "x.trace")
	cmd := exec.Command("ptrace-run", "--sample=50ms", "-o", log, "--", "sh", "-c",
		`touch start; python3 -c "$1" small 24 & python3 -c "$1" large 96; wait`, "sh", grows)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PTRACE_STREAM=", "PTRACE_SPOOL=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shown, err := exec.Command("ptrace-dump", "-s", log).Output()
	m := peakLine.FindStringSubmatch(string(shown))
	if err != nil || m == nil {
		t.Fatalf("%v: no peak in\n%s", err, shown)
	}
	number := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
	at := number(m[3]) + 60*number(m[2])
	if m[4] == "ms" {
		at /= 1000
	}
	said := map[string][3]float64{}
	for _, name := range []string{"small", "large"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		var v [3]float64
		if _, e := fmt.Sscan(strings.TrimSpace(string(b)), &v[0], &v[1], &v[2]); err != nil || e != nil {
			t.Fatal(err, e)
		}
		v[2] /= 1 << 20
		said[name] = v
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 2+b/20 } // Python itself grows by a little
	large, small := said["large"], said["small"]
	if !near(number(m[5]), large[2]) || !near(number(m[6]), small[2]) || !near(number(m[1]), large[2]+small[2]) || at < large[0]-.3 || at > large[1]+.3 {
		t.Errorf("%s\nand the processes say (from, to, MiB): large %.2f, small %.2f", m[0], large, small)
	}
	t.Log(m[0])
}
