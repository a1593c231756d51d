package summary

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/record/resources"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// What the files of a cgroup of version 2 say while a command runs is in the first lines: how much memory it had, of
// which limit, what the OOM killer ended, and what held it up. What they said before is not.
func TestUseOfCgroup(t *testing.T) {
	root := t.TempDir()
	write := func(list map[string]string) {
		for name, content := range list {
			name = filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	const pressure = "some avg10=1.00 avg60=2.00 avg300=3.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"
	stalled := func(us int) string { return strings.Replace(pressure, "%d", strconv.Itoa(us), 1) }
	files := func(memory, kills, throttled, waited, io int) map[string]string {
		return map[string]string{
			"job/memory.max": "104857600\n", "job/memory.current": strconv.Itoa(memory<<20) + "\n", "job/memory.peak": strconv.Itoa(memory<<20) + "\n",
			"job/memory.events":     "low 0\nhigh 0\nmax 3\noom 1\noom_kill " + strconv.Itoa(kills) + "\noom_group_kill 0\n",
			"job/step/memory.max":   "max\n",
			"job/step/cpu.stat":     "usage_usec 5\nnr_periods 9\nthrottled_usec " + strconv.Itoa(throttled) + "\n",
			"job/step/cpu.pressure": stalled(1), "job/step/memory.pressure": stalled(waited), "job/step/io.pressure": stalled(io),
		}
	}
	for _, test := range []struct {
		name          string
		before, after map[string]string
		want, not     []string
	}{
		{"held up", files(10, 2, 1_000_000, 2_000_000, 3_000_000), files(90, 3, 6_000_000, 4_500_000, 5_000_000), []string{
			"the OOM killer killed 1 process of the cgroup: memory 90.0M of 100M at 10.0s: make, 1.00M\n",
			"its quota of processor time stopped the cgroup for 50 % of the time\n",
			"threads of the cgroup waited for memory for 25 % of the time\n",
			"threads of the cgroup waited for devices for 20 % of the time\n",
		}, nil},
		{"not", files(10, 2, 1_000_000, 2_000_000, 3_000_000), files(90, 2, 1_900_000, 2_900_000, 3_900_000), []string{"peak memory: memory 90.0M of 100M"}, []string{"OOM", "stopped", "waited for"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			write(test.before)
			g := resources.OpenCgroup(root, []byte("0::/job/step\n"))
			defer g.Close()
			o := &Options{Top: All}
			a := New(o)
			s := a.NewSource(func(posixtrace.EventID) string { return "" })
			var sent posixtrace.ResProcesses
			add := func(at int64, id posixtrace.EventID, data []byte) {
				s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: 1, TID: 1, UnixNano: at}, Data: data}})
			}
			sample := func(at int64, number int) {
				d := posixtrace.ResSampleData{Number: number, RSS: int64(number) << 19}
				g.Look(&d)
				for _, data := range sent.Encode(nil, &d, []posixtrace.ResProcess{{PID: 1, Program: "make", RSS: int64(number) << 19}}, 4096) {
					add(at, posixtrace.EventResSample, data)
				}
			}
			add(0, posixtrace.EventProcExec, (&posixtrace.ExecData{Path: "/bin/make", Argv: []string{"make"}}).Append(nil))
			sample(0, 1)
			write(test.after)
			sample(1e10, 2)
			add(1e10, posixtrace.EventProcExit, (&posixtrace.ExitData{Status: 2}).Append(nil))
			a.Finish()
			text := string(Append(nil, a, 0, o))
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			for _, not := range test.not {
				if strings.Contains(text, not) {
					t.Errorf("%q in\n%s", not, text)
				}
			}
		})
	}
}
