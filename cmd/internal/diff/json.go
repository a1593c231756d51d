package diff

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// appendJSON appends a line for each run, for each difference, and for the result.
// diff.schema.json describes them.
func (s *show) appendJSON(b []byte) []byte {
	for side, runs := range [][]*compare.Run{s.Old, s.New} {
		for _, r := range runs {
			b = runFields([]string{"old", "new"}[side], r).AppendJSON(b)
		}
	}
	list, left := s.limited()
	for _, d := range list {
		b = differenceFields(d).AppendJSON(b)
	}
	var f output.Fields
	f.Add("kind", "result")
	f.Add("sentence", s.raw(s.first()))
	f.Add("differ", s.Differ())
	addChange(&f, "wall", &s.Wall)
	f.Add("wall_beyond", s.Wall.Beyond)
	f.Add("wall_seen_ns", s.Wall.Seen)
	f.Add("parallel", s.Parallel)
	f.Add("old_running", s.Running[0])
	f.Add("new_running", s.Running[1])
	f.Add("differences", len(s.Differences))
	f.Add("left_out", left)
	f.Add("compared", s.Compared)
	f.Add("notes", append([]string{}, s.Notes...))
	f.Add("busier", s.Busier != nil)
	return f.AppendJSON(b)
}

// raw returns a sentence as it is.
func (s *show) raw(list []piece) string {
	text := ""
	for _, p := range list {
		text += p.text
	}
	return text
}

func runFields(side string, r *compare.Run) (f output.Fields) {
	status, signal, state := -1, 0, ""
	delay, waited := int64(0), 0.
	if c := r.Command; c != nil {
		status, signal = c.Status, c.Signal
		busy, _ := c.Busy()
		delay, waited = c.Delay, busy.Waited
		state = [...]string{"ended", "replaced", "running", "lost"}[c.State]
	}
	f.Add("kind", "run")
	f.Add("side", side)
	f.Add("log", r.Name)
	f.Add("command", r.Label)
	f.Add("state", state)
	f.Add("status", status)
	f.Add("signal", signal)
	f.Add("wall_ns", r.Wall)
	f.Add("events", r.Events)
	f.Add("lost", r.Lost)
	f.Add("unsound", r.Unsound)
	f.Add("run_delay_ns", delay)
	f.Add("waited", waited)
	return f
}

func differenceFields(d *compare.Difference) (f output.Fields) {
	f.Add("kind", "difference")
	f.Add("what", string(d.What))
	f.Add("change", string(d.How))
	f.Add("name", d.Name)
	f.Add("was", d.Was)
	f.Add("in", d.In)
	f.Add("use", d.Use)
	f.Add("effect_ns", d.Effect)
	f.Add("effect_known", d.Known)
	addChange(&f, "time", &d.Time)
	f.Add("old_bytes", d.Bytes.Old)
	f.Add("new_bytes", d.Bytes.New)
	f.Add("old_bytes_spread", d.Bytes.OldSpread)
	f.Add("new_bytes_spread", d.Bytes.NewSpread)
	f.Add("old_whole_ns", d.Whole.Old)
	f.Add("new_whole_ns", d.Whole.New)
	f.Add("old_count", d.Count.Old)
	f.Add("new_count", d.Count.New)
	f.Add("inside", d.Inside)
	f.Add("status", d.Status)
	f.Add("signal", d.Signal)
	f.Add("error", d.Error)
	return f
}

// addChange adds the medians and the spread of a time.
func addChange(f *output.Fields, name string, c *compare.Change) {
	f.Add("old_"+name+"_ns", c.Old)
	f.Add("new_"+name+"_ns", c.New)
	f.Add("old_"+name+"_spread_ns", c.OldSpread)
	f.Add("new_"+name+"_spread_ns", c.NewSpread)
}
