package output

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Samples are counters: memory, processes, and the processors that were used since the sample before. Further
// parts of a sample are none, and malformed samples are marks.
func TestChromeCounters(t *testing.T) {
	form, err := NewForm("chrome", &Settings{Text: &Text{}})
	if err != nil {
		t.Fatal(err)
	}
	src := NewSource(func(posixtrace.EventID) string { return "" })
	b := form.Begin(nil)
	add := func(at int64, data []byte) {
		b = form.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventResSample, PID: 4, TID: 4, UnixNano: 1e18 + at*1e9}, Data: data})
	}
	d := posixtrace.ResSampleData{Number: 1, Full: true, Processes: 2, RSS: 4096, Group: true, Memory: 8192}
	add(0, d.Append(nil))
	d.Number, d.CPU = 2, 3*time.Second
	add(2, d.Append(nil))
	d.Part = 1
	add(2, d.Append(nil))
	add(3, []byte("short"))
	events := readChrome(t, string(form.End(b)))
	validateChrome(t, events)
	var got []string
	for _, e := range events {
		for _, v := range []*int64{e.Args.Processes, e.Args.Cgroup, e.Args.Thousandths} {
			if v != nil {
				got = append(got, fmt.Sprintf("%s %v=%d", e.Name, *e.Ts/1e6, *v))
			}
		}
		if e.Ph == "i" {
			got = append(got, "mark")
		}
	}
	want := []string{"memory 0=4096", "memory of the cgroup 0=8192", "processes 0=2",
		"memory 2=4096", "memory of the cgroup 2=8192", "processes 2=2", "processors in use 2=1500", "mark"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
