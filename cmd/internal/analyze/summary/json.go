package summary

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// appendJSON appends a line for each row of each table. summary.schema.json describes them.
func (s *show) appendJSON(b []byte) []byte {
	for _, r := range s.Runs() {
		f := commandFields("run", &r.Command, r.Failed())
		f.Add("user_ns", r.User)
		f.Add("system_ns", r.System)
		f.Add("maxrss", r.MaxRSS)
		busy, _ := r.Busy()
		f.Add("run_delay_ns", r.Delay)
		f.Add("processors", r.Processors)
		f.Add("others_ns", r.Others)
		f.Add("idle_ns", r.Idle)
		f.Add("pressure_ns", r.Pressure)
		f.Add("waited", busy.Waited)
		limit, list, running := int64(0), r.Running, []string{}
		if t := r.Timeout; t != nil {
			limit, list = t.Limit, t.Running
		}
		for _, c := range list {
			running = append(running, c.Label())
		}
		f.Add("timeout_ns", limit)
		f.Add("running_then", running)
		f.Add("hung", Hung(s.Analysis, r))
		b = f.AppendJSON(b)
	}
	if r := s.FailedSpan(); r != nil {
		b = failureFields(s, r).AppendJSON(b)
	}
	for _, r := range s.Runs() {
		b = s.appendUse(b, r)
	}
	for _, c := range limited(s, s.rankedCommands()) {
		f := commandFields("command", c, c.Failed())
		f.Add("self_ns", c.Self)
		f.Add("cpu_ns", c.CPU)
		f.Add("memory", c.Memory)
		f.Add("forked", c.Forked)
		f.Add("run_delay_ns", c.Delay)
		b = f.AppendJSON(b)
	}
	for _, g := range limited(s, s.Programs()) {
		f := output.Fields{{Key: "kind", Value: "program"}, {Key: "program", Value: g.Name}, {Key: "count", Value: g.Commands}, {Key: "failed", Value: g.Failed},
			{Key: "wall_ns", Value: g.Wall}, {Key: "self_ns", Value: g.Self}, {Key: "cpu_ns", Value: g.CPU}, {Key: "memory", Value: g.Memory}}
		b = f.AppendJSON(b)
	}
	for _, r := range limited(s, s.rankedSpans()) {
		m := &r.Times
		f := output.Fields{{Key: "kind", Value: "span"}, {Key: "span", Value: r.Name}, {Key: "count", Value: m.Count},
			{Key: "p50_ns", Value: m.Quantile(.5)}, {Key: "p95_ns", Value: m.Quantile(.95)}, {Key: "max_ns", Value: m.Max},
			{Key: "total_ns", Value: m.Total}, {Key: "open", Value: r.Open}, {Key: "unmatched", Value: r.Unmatched},
			{Key: "overlapping", Value: r.Overlapping}, {Key: "step", Value: r.Step}, {Key: "self_ns", Value: r.Self},
			{Key: "failed", Value: r.Failed}}
		b = f.AppendJSON(b)
	}
	pauses, lines := s.Pauses()
	for _, p := range limited(s, pauses) {
		b = pauseFields(s, p).AppendJSON(b)
	}
	for _, c := range limited(s, s.Calls()) {
		m := &c.Times
		f := output.Fields{{Key: "kind", Value: "syscall"}, {Key: "syscall", Value: c.Name}, {Key: "count", Value: c.Calls}, {Key: "errors", Value: c.Errors},
			{Key: "total_ns", Value: m.Total}, {Key: "mean_ns", Value: m.Mean()}, {Key: "p95_ns", Value: m.Quantile(.95)}, {Key: "max_ns", Value: m.Max}}
		b = f.AppendJSON(b)
	}
	for _, t := range limited(s, s.Counts()) {
		f := output.Fields{{Key: "kind", Value: "event"}, {Key: "event", Value: t.Name}, {Key: "class", Value: catalog.TypeClass(t.ID)},
			{Key: "count", Value: t.Events}, {Key: "rate", Value: s.Rate(t.Events)}, {Key: "bytes", Value: t.Bytes}}
		b = f.AppendJSON(b)
	}
	t := s.CommandTotals()
	f := output.Fields{{Key: "kind", Value: "total"}, {Key: "count", Value: s.Events}, {Key: "rate", Value: s.Rate(s.Events)},
		{Key: "duration_ns", Value: s.Duration()}, {Key: "lost", Value: s.lost}, {Key: "commands", Value: t.Commands}, {Key: "failed", Value: t.Failed},
		{Key: "lines", Value: lines}, {Key: "unknown_starts", Value: t.Unknown}, {Key: "backward", Value: s.Backward},
		{Key: "ignored", Value: t.Ignored + s.IgnoredSpans()}}
	return f.AppendJSON(b)
}

// limited returns the rows that --top selects.
func limited[T any](s *show, list []T) []T {
	if s.Top > 0 {
		return list[:min(len(list), s.Top)]
	}
	return list
}

var stateNames = [...]string{analysis.Ended: "ended", analysis.Replaced: "replaced", analysis.Running: "running", analysis.Lost: "lost"}

func commandFields(kind string, c *analysis.Command, failed bool) (f output.Fields) {
	path, argv := c.Argv()
	f.Add("kind", kind)
	f.Add("command", c.Label())
	f.Add("program", c.Program())
	f.Add("path", path)
	f.Add("argv", argv)
	f.Add("log", c.Source)
	f.Add("pid", c.PID)
	f.Add("state", stateNames[c.State])
	f.Add("status", c.Status)
	f.Add("signal", c.Signal)
	f.Add("failure", failed)
	f.Add("wall_ns", c.Wall)
	return f
}

func failureFields(s *show, r *analysis.FailedSpan) (f output.Fields) {
	f.Add("kind", "failure")
	f.Add("span", r.Row.Name)
	f.Add("step", r.Row.Step)
	f.Add("log", r.Source)
	f.Add("pid", r.PID)
	f.Add("status", r.Status)
	f.Add("error", r.Error)
	f.Add("wall_ns", r.Wall)
	f.Add("at_ns", max(r.Start-s.First, 0))
	lines := []string{}
	for _, l := range r.Output {
		lines = append(lines, string(l))
	}
	f.Add("output", lines)
	return f
}

func pauseFields(s *show, p *analysis.Pause) (f output.Fields) {
	command, span := "", ""
	if p.Command != nil {
		command = p.Command.Label()
	}
	if p.Meanwhile != nil {
		span = spanName(p.Meanwhile)
	}
	f.Add("kind", "pause")
	f.Add("pause_ns", p.Duration)
	f.Add("at_ns", max(p.At-s.First, 0))
	f.Add("log", p.Source)
	f.Add("line", string(p.Line))
	f.Add("start", p.Start)
	f.Add("end", p.End)
	f.Add("command", command)
	f.Add("span", span)
	return f
}
