// Package samples finds in the samples of a run when its memory was the largest, which programs had it, and
// what its cgroup held it up with. It keeps no series.
package samples

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Samples is what the samples of a log say.
type Samples struct {
	Count       int
	First, Last posixtrace.ResSampleData // without the processes
	FirstAt     int64
	LastAt      int64
	Peak        Peak   // by the resident memory of the processes
	Victim      string // the program of Last.OOMProcess, "" if unknown

	// Programs has what each program used, by its name, if it is not nil before the first sample.
	Programs map[string]*Use
	used     map[int]used

	group     int64 // the most memory of the cgroup
	processes posixtrace.ResProcesses
	pending   bool // the sample is a new peak whose processes are not complete
}

// Peak is the sample with the most memory.
type Peak struct {
	At       int64
	RSS      int64
	Programs []Program // the largest first, at most three; none if unknown
	Others   int       // programs beside them
}

// Program is the processes of a name.
type Program struct {
	Name  string // untrusted
	Count int
	RSS   int64
}

const mostPrograms = 3

// Add adds the data of an event, and returns the process that it shows at its limit of descriptors, 0 if
// none. Malformed data says nothing.
func (s *Samples) Add(rec *posixtrace.Record) (limited int) {
	d, err := posixtrace.DecodeResSample(rec.Data)
	if err != nil {
		return 0
	}
	if p := d.OOMProcess; p != 0 && p != s.Last.OOMProcess {
		s.Victim = s.processes.All()[p].Program
	}
	complete := s.processes.Add(&d)
	d.Changes, d.Ended = nil, nil
	if d.Part == 0 {
		s.pending = false
		if s.Count == 0 {
			s.First, s.FirstAt = d, rec.UnixNano
		}
		s.Count++
		s.group = max(s.group, d.Memory)
		if d.RSS > s.Peak.RSS {
			s.Peak = Peak{At: rec.UnixNano, RSS: d.RSS}
			s.pending = true
		}
	}
	s.Last, s.LastAt = d, max(s.LastAt, rec.UnixNano)
	if complete && s.Programs != nil {
		s.use(d.Number)
	}
	if complete && s.pending {
		s.pending = false
		s.Peak.Programs, s.Peak.Others = programs(s.processes.All())
	}
	return d.LimitProcess
}

func programs(all map[int]posixtrace.ResProcess) (list []Program, others int) {
	byName := map[string]*Program{}
	for _, p := range all {
		g := byName[p.Program]
		if g == nil {
			g = &Program{Name: p.Program}
			byName[p.Program] = g
		}
		g.Count++
		g.RSS = max(g.RSS+p.RSS, g.RSS) // a damaged log may have any number
	}
	for g := range maps.Values(byName) {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(x, y Program) int { return cmp.Or(cmp.Compare(y.RSS, x.RSS), cmp.Compare(x.Name, y.Name)) })
	n := min(len(list), mostPrograms)
	return slices.Clone(list[:n]), len(list) - n
}

// Kills returns how many processes of the cgroup the OOM killer has killed between the first sample and the
// last.
func (s *Samples) Kills() int64 { return max(s.Last.OOMKills-s.First.OOMKills, 0) }

// Group returns the most memory that the cgroup had meanwhile, and its limit, 0 if it is unknown or has none.
// A peak that is older than the first sample says nothing of the time since.
func (s *Samples) Group() (memory, limit int64) {
	if s.Last.Peak > s.First.Peak {
		return s.Last.Peak, s.Last.Limit
	}
	return s.group, s.Last.Limit
}

// Full says which file systems had no room.
type Full struct {
	Directory bool // that of the working directory
	Temporary bool // another one, of the directory for temporary files
}

// Full returns the file systems that had no room in the last sample.
func (s *Samples) Full() Full {
	return Full{Directory: s.Last.DirectoryFull, Temporary: s.Last.TemporaryFull}
}

// Throttled returns the part of the time for which a quota of processor time stopped the cgroup.
func (s *Samples) Throttled() float64 { return s.part(s.First.Throttled, s.Last.Throttled) }

// Stalled returns the parts of the time for which some thread of the cgroup waited for memory and for a
// device.
func (s *Samples) Stalled() (memory, io float64) {
	return s.part(s.First.MemoryStall, s.Last.MemoryStall), s.part(s.First.IOStall, s.Last.IOStall)
}

func (s *Samples) part(first, last time.Duration) float64 {
	if s.LastAt <= s.FirstAt || last <= first {
		return 0
	}
	return float64(last-first) / float64(s.LastAt-s.FirstAt)
}
