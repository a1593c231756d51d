package summary

import (
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/samples"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// explains is from which part of the time on a wait of the cgroup explains how long a run took.
const explains = .1

// outOfMemory returns a line for each run of which the OOM killer has killed other processes than the command.
func (s *show) outOfMemory(runs []*analysis.Run) (list []line) {
	for _, r := range runs[:min(len(runs), maxRuns)] {
		m := s.Samples(r.Command.Source)
		if m == nil || m.Kills() == 0 || r.OutOfMemory() {
			continue
		}
		text := "the OOM killer killed " + cli.Plural(uint64(m.Kills()), "process", "processes") + " of the cgroup"
		if m.Victim != "" {
			text += ", of the command " + escape.String(m.Victim)
		}
		list = append(list, of(r, runs, text+atPeak(m, r.Start), true))
	}
	return list
}

// resources returns the lines of what the runs used, by their samples.
func (s *show) resources(runs []*analysis.Run) (list []line) {
	for _, r := range runs[:min(len(runs), maxRuns)] {
		m := s.Samples(r.Command.Source)
		if m == nil {
			continue
		}
		add := func(text string) { list = append(list, of(r, runs, text, false)) }
		if m.Peak.RSS > 0 && m.Kills() == 0 {
			add("peak memory" + atPeak(m, r.Start))
		}
		if part := m.Throttled(); part >= explains {
			add("its quota of processor time stopped the cgroup for " + output.Percent(part) + " of the time")
		}
		memory, io := m.Stalled()
		if memory >= explains {
			add("threads of the cgroup waited for memory for " + output.Percent(memory) + " of the time")
		}
		if io >= explains {
			add("threads of the cgroup waited for devices for " + output.Percent(io) + " of the time")
		}
	}
	return list
}

// of returns a line of a run, with its label if there are others.
func of(r *analysis.Run, runs []*analysis.Run, text string, failed bool) line {
	if len(runs) > 1 {
		return line{subject: r.Label(), after: ": " + text, failed: failed}
	}
	return line{before: text, failed: failed}
}

// atPeak returns how large the memory of a run was, when, and of which programs, with a colon before it.
func atPeak(m *samples.Samples, start int64) string {
	var b strings.Builder
	memory, limit := m.Group()
	switch {
	case limit > 0 && memory > 0:
		b.WriteString(": memory " + size(memory) + " of " + size(limit))
	case m.Peak.RSS > 0:
		b.WriteString(": " + size(m.Peak.RSS))
	}
	if m.Peak.RSS <= 0 {
		return b.String()
	}
	b.WriteString(" at " + duration(max(m.Peak.At-start, 0)))
	for i, p := range m.Peak.Programs {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		if p.Count > 1 {
			b.WriteString(strconv.Itoa(p.Count) + " x ")
		}
		b.WriteString(escape.String(p.Name) + ", " + size(p.RSS))
	}
	if m.Peak.Others > 0 {
		b.WriteString("; and " + cli.Plural(uint64(m.Peak.Others), "other program", "other programs"))
	}
	return b.String()
}
