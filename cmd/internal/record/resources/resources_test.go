package resources

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// files writes simulated files.
func files(t *testing.T, list map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range list {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// The cgroup that matters is the nearest with a limit; times are those of the process's own.
func TestCgroup(t *testing.T) {
	for _, c := range []struct {
		name, membership string
		files            map[string]string
		want             posixtrace.ResSampleData
	}{
		{"unified", "0::/a/b\n", map[string]string{
			"a/memory.max": "4096000\n", "a/memory.current": "1000\n", "a/memory.peak": "2000\n",
			"a/memory.events": "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 9\n",
			"a/b/memory.max":  "max\n", "a/b/memory.current": "500\n",
			"a/b/cpu.stat":        "usage_usec 5\nnr_throttled 2\nthrottled_usec 3000\n",
			"a/b/memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=17\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n",
		}, posixtrace.ResSampleData{Group: true, Memory: 1000, Peak: 2000, Limit: 4096000, OOMKills: 1, Throttled: 3 * time.Millisecond, MemoryStall: 17 * time.Microsecond}},
		{"no limit", "0::/a\n", map[string]string{"a/memory.max": "max\n", "a/memory.current": "500\n"}, posixtrace.ResSampleData{Group: true, Memory: 500}},
		{"version 1", "4:memory:/a\n2:cpu,cpuacct:/a\n0::/\n", map[string]string{
			"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "1\n",
			"memory/a/memory.limit_in_bytes": "4096000\n", "memory/a/memory.usage_in_bytes": "1000\n", "memory/a/memory.max_usage_in_bytes": "2000\n",
			"memory/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "cpu,cpuacct/a/cpu.stat": "nr_periods 1\nthrottled_time 900\n",
		}, posixtrace.ResSampleData{Group: true, Memory: 1000, Peak: 2000, Limit: 4096000, OOMKills: 3, Throttled: 900}},
		{"both versions", "4:memory:/a\n1:cpu:/a\n0::/b\n", map[string]string{
			"memory/a/memory.limit_in_bytes": "4096000\n", "memory/a/memory.usage_in_bytes": "1000\n", "cpu/a/cpu.stat": "throttled_time 900\n",
			"unified/b/memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=17\n", "unified/memory.pressure": "some total=99\n",
		}, posixtrace.ResSampleData{Group: true, Memory: 1000, Limit: 4096000, Throttled: 900, MemoryStall: 17 * time.Microsecond}},
		{"both versions, version 2 first", "0::/b\n4:memory:/a\n", map[string]string{
			"memory/a/memory.usage_in_bytes": "1000\n", "unified/b/memory.pressure": "some total=17\n",
		}, posixtrace.ResSampleData{Group: true, Memory: 1000, MemoryStall: 17 * time.Microsecond}},
		{"both versions, the machine", "4:memory:/a\n0::/\n", map[string]string{
			"memory/a/memory.usage_in_bytes": "1000\n", "unified/memory.pressure": "some total=99\n",
		}, posixtrace.ResSampleData{Group: true, Memory: 1000}},
		{"outside", "0::/../../x\n", map[string]string{"memory.current": "5\n", "memory.max": "nonsense"}, posixtrace.ResSampleData{Group: true, Memory: 5}},
		{"none", "", nil, posixtrace.ResSampleData{}},
		{"hostile", "0\n:::\n0::" + strings.Repeat("/x", 3000), map[string]string{"memory.current": strings.Repeat("9", 5000)}, posixtrace.ResSampleData{Group: true, Memory: 999999999999999999}},
	} {
		before := descriptors(t)
		g := OpenCgroup(files(t, c.files), []byte(c.membership))
		var got posixtrace.ResSampleData
		g.Look(&got)
		g.Close()
		if n := descriptors(t); n != before {
			t.Errorf("%s: %d descriptors are left open", c.name, n-before)
		}
		if got.Memory > 1<<58 {
			got.Memory = 999999999999999999
		}
		if got.Memory != c.want.Memory || got.Peak != c.want.Peak || got.Limit != c.want.Limit || got.OOMKills != c.want.OOMKills || got.Group != c.want.Group ||
			got.Throttled != c.want.Throttled || got.MemoryStall != c.want.MemoryStall {
			t.Errorf("%s:\n%+v, want\n%+v", c.name, got, c.want)
		}
	}
}

func TestVictim(t *testing.T) {
	for message, want := range map[string]int{
		"3,1,2,-;Out of memory: Killed process 4711 (cc1plus) total-vm:1kB, anon-rss:2kB\n": 4711,
		"3,1,2,-;Memory cgroup out of memory: Killed process 12 (a b) total-vm:1kB\n KEY=x": 12,
		"3,1,2,-;Killed process 12 (x)":                                    0,
		"12,1,2,-;x\n Out of memory: Killed process 12 ":                   0,
		"3,1,2,-;Out of memory: Killed process -5 ":                        0,
		"Out of memory: Killed process 12 ":                                0,
		"3,1,2,-;Out of memory: Killed process 99999999999999999999 (x)\n": 0,
	} {
		if got := victim([]byte(message)); got != want {
			t.Errorf("%q: %d, want %d", message, got, want)
		}
	}
}

// sleepers starts a tree: a shell with processes that sleep.
func sleepers(tb testing.TB, n int) *exec.Cmd {
	tb.Helper()
	script := strings.Repeat("sleep 600 & ", n) + "echo; wait"
	c := exec.Command("sh", "-c", script)
	c.SysProcAttr = group
	out, err := c.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		killGroup(c.Process.Pid)
		c.Wait()
	})
	out.Read(make([]byte, 1))
	return c
}

// A tree has a process and those below it, and no others.
func TestTree(t *testing.T) {
	c := sleepers(t, 5)
	tree := NewTree(c.Process.Pid)
	defer tree.Close()
	var d posixtrace.ResSampleData
	for deadline := time.Now().Add(10 * time.Second); ; {
		list := tree.Look(&d, nil)
		names := map[string]int{}
		for _, p := range list {
			names[p.Program]++
		}
		if len(list) == 6 && names["sleep"] == 5 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the tree is %v", list)
		}
	}
	if d.Processes != 6 || d.Threads != 6 || d.RSS < 6*4096 {
		t.Errorf("%+v", d)
	}
}

// Samples of a hundred processes cost less than half a percent of a processor each second, and three percent
// ten times a second; else the interval grows, and the data says so.
func TestCost(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := sleepers(t, 100)
	s := New(c.Process.Pid, 100*time.Millisecond, 4096)
	defer s.Close()
	best := time.Hour
	bytes := 0
	for end, i := time.Now().Add(20*time.Second), 0; i < 40 || best > 5*time.Millisecond && time.Now().Before(end); i++ { // other processes take the caches
		before := cost()
		list := s.Sample()
		best = min(best, cost()-before)
		bytes = 0
		for _, b := range list {
			bytes += len(b)
		}
	}
	t.Logf("a sample of %d processes takes %v, %d bytes", s.last.Processes, best, bytes)
	if s.last.Processes != 101 {
		t.Errorf("%d processes", s.last.Processes)
	}
	if best > 5*time.Millisecond {
		t.Errorf("a sample takes %v of processor time", best)
	}
	if best > 3*time.Millisecond && s.Interval() <= 100*time.Millisecond {
		t.Errorf("a sample takes %v, and the interval is %v", best, s.Interval())
	}
	for range 10 {
		s.adapt(50 * time.Millisecond)
	}
	if s.Interval() < time.Second {
		t.Errorf("an interval of %v for samples of 50 ms", s.Interval())
	}
}
