package summary

import (
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/samples"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
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
		words := []word{said("the OOM killer killed " + cli.Plural(uint64(m.Kills()), "process", "processes") + " of the cgroup")}
		if m.Victim != "" {
			words = append(words, said(", of the command "), named(m.Victim))
		}
		list = append(list, of(r, runs, append(words, atPeak(m, r.Start)...), true))
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
		add := func(text string, words ...word) {
			list = append(list, of(r, runs, append([]word{said(text)}, words...), false))
		}
		if m.Peak.RSS > 0 && m.Kills() == 0 {
			add("peak memory", atPeak(m, r.Start)...)
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
func of(r *analysis.Run, runs []*analysis.Run, words []word, failed bool) line {
	if len(runs) > 1 {
		return line{subject: r.Label(), after: ": ", words: words, failed: failed}
	}
	return line{words: words, failed: failed}
}

// atPeak returns how large the memory of a run was, when, and of which programs, with a colon before it.
func atPeak(m *samples.Samples, start int64) (words []word) {
	text := ""
	memory, limit := m.Group()
	switch {
	case limit > 0 && memory > 0:
		text = ": memory " + size(memory) + " of " + size(limit)
	case m.Peak.RSS > 0:
		text = ": " + size(m.Peak.RSS)
	}
	if m.Peak.RSS <= 0 {
		return []word{said(text)}
	}
	text += " at " + duration(max(m.Peak.At-start, 0))
	for i, p := range m.Peak.Programs {
		text += []string{": ", "; "}[min(i, 1)]
		if p.Count > 1 {
			text += strconv.Itoa(p.Count) + " x "
		}
		words = append(words, said(text), named(p.Name))
		text = ", " + size(p.RSS)
	}
	if m.Peak.Others > 0 {
		text += "; and " + cli.Plural(uint64(m.Peak.Others), "other program", "other programs")
	}
	return append(words, said(text))
}
