package samples

import "time"

// Use is what the processes of a program used, as far as samples show it: of one that began and ended between
// two of them, they show nothing.
type Use struct {
	Samples int           // in which the program is
	RSS     int64         // the most of its processes together
	CPU     time.Duration // of all its processes
	sample  int
	now     int64
}

// used is what a process had used by the sample before.
type used struct {
	cpu    time.Duration
	sample int
}

// maxPrograms bounds the programs. Others are left out.
const maxPrograms = 1 << 12

// use adds the processes of a sample that is complete.
func (s *Samples) use(number int) {
	first := s.used == nil
	if first {
		s.used = map[int]used{}
	}
	for pid, p := range s.processes.All() {
		before, known := s.used[pid]
		s.used[pid] = used{p.CPU, number}
		u := s.Programs[p.Program]
		if u == nil {
			if len(s.Programs) >= maxPrograms {
				continue
			}
			u = &Use{sample: -1}
			s.Programs[p.Program] = u
		}
		if u.sample != number {
			u.sample, u.now = number, 0
			u.Samples++
		}
		u.now = max(u.now+p.RSS, u.now) // a damaged log may have any number
		u.RSS = max(u.RSS, u.now)
		switch {
		case known && p.CPU >= before.cpu:
			u.CPU = max(u.CPU+p.CPU-before.cpu, u.CPU)
		case known || !first: // a new process; one of the first sample may be old
			u.CPU = max(u.CPU+p.CPU, u.CPU)
		}
	}
	for pid, u := range s.used {
		if u.sample != number {
			delete(s.used, pid)
		}
	}
}
