package summary

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// resourceNames are those of JSON.
var resourceNames = [...]string{analysis.Space: "space", analysis.Quota: "quota", analysis.Descriptors: "descriptors", analysis.Files: "files"}

// appendUse appends the rows of what a run used, by its samples, and of what its processes found used up.
func (s *show) appendUse(b []byte, r *analysis.Run) []byte {
	exhausted := func(resource analysis.Resource, where string, e *analysis.Exhausted) {
		var f output.Fields
		f.Add("kind", "exhausted")
		f.Add("resource", resourceNames[resource])
		f.Add("log", r.Command.Source)
		f.Add("where", where)
		f.Add("command", e.Command.Label())
		f.Add("pid", e.Command.PID)
		f.Add("call", e.Call())
		f.Add("count", e.Calls)
		f.Add("at_ns", max(e.At-r.Start, 0))
		b = f.AppendJSON(b)
	}
	for _, e := range s.Exhausted(r) {
		exhausted(e.Resource, "", e)
	}
	end := &analysis.Exhausted{At: r.Start + r.Wall}
	full := r.Full()
	if full.Directory {
		exhausted(analysis.Space, "directory", end)
	}
	if full.Temporary {
		exhausted(analysis.Space, "temporary", end)
	}
	m := s.Samples(r.Command.Source)
	if m == nil {
		return b
	}
	memory, limit := m.Group()
	stalledMemory, stalledIO := m.Stalled()
	var f output.Fields
	f.Add("kind", "samples")
	f.Add("log", r.Command.Source)
	f.Add("count", m.Count)
	f.Add("memory", max(m.Peak.RSS, 0))
	f.Add("at_ns", max(m.Peak.At-r.Start, 0))
	f.Add("group_memory", max(memory, 0))
	f.Add("group_limit", max(limit, 0))
	f.Add("oom_kills", m.Kills())
	f.Add("oom_program", m.Victim)
	f.Add("throttled", m.Throttled())
	f.Add("stalled_memory", stalledMemory)
	f.Add("stalled_io", stalledIO)
	f.Add("others", m.Peak.Others)
	b = f.AppendJSON(b)
	for _, p := range m.Peak.Programs {
		f := output.Fields{{Key: "kind", Value: "peak"}, {Key: "log", Value: r.Command.Source}, {Key: "program", Value: p.Name}, {Key: "count", Value: p.Count}, {Key: "memory", Value: max(p.RSS, 0)}}
		b = f.AppendJSON(b)
	}
	return b
}
