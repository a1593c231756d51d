package resources

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const (
	// fullEvery is how many samples refer to one that stands alone.
	fullEvery = 16
	// share is the most of a processor that samples use, one part in so many: the interval grows if they would use more.
	share = 200
	// shareShort is that of samples that the user asked to be shorter than a second apart.
	shareShort = 33
)

// Sampler samples a process and those below it.
type Sampler struct {
	tree     *Tree
	group    *Cgroup
	log      *Log
	asked    time.Duration
	interval time.Duration
	sent     posixtrace.ResProcesses
	number   int
	last     posixtrace.ResSampleData
	known    map[int]bool // the processes that were in the tree
	list     []posixtrace.ResProcess
	size     int
	spent    time.Duration // of processor time for a sample, on average; 0 before the second

	// Conceal, unless nil, returns what to record instead of the name of a program.
	Conceal func(string) string
	names   map[string]string // that it returned
}

// maxKnown bounds the processes that a sampler remembers.
const maxKnown = 1 << 16

// New returns a sampler of a running process. An event has at most size bytes of data.
func New(pid int, interval time.Duration, size int) *Sampler {
	membership, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return newSampler(NewTree(pid), OpenCgroup("/sys/fs/cgroup", membership), OpenLog("/dev/kmsg"), interval, size)
}

func newSampler(t *Tree, g *Cgroup, l *Log, interval time.Duration, size int) *Sampler {
	return &Sampler{tree: t, group: g, log: l, asked: interval, interval: interval, size: size, known: map[int]bool{}}
}

// Sample returns the data of the events of a sample.
func (s *Sampler) Sample() [][]byte { return s.sample(posixtrace.ResSampleData{}) }

// Last returns Sample, the last one, of a command that failed in this directory: with whether the file system has
// no room, and that of the directory for temporary files.
func (s *Sampler) Last(directory, temporary string) [][]byte {
	var d posixtrace.ResSampleData
	d.DirectoryFull, d.TemporaryFull = Full(directory, temporary)
	return s.sample(d)
}

func (s *Sampler) sample(d posixtrace.ResSampleData) [][]byte {
	before := cost()
	s.number++
	d.Number, d.Full = s.number, s.number%fullEvery == 1
	s.list = s.tree.Look(&d, s.list[:0])
	s.group.Look(&d)
	s.conceal()
	for i := range s.list {
		if len(s.known) < maxKnown {
			s.known[s.list[i].PID] = true
		}
	}
	if d.OOMKills > s.last.OOMKills || !d.Group {
		d.OOMProcess = s.log.Killed(func(pid int) bool { return s.known[pid] })
	}
	if d.OOMProcess == 0 {
		d.OOMProcess = s.last.OOMProcess
	}
	if s.number > 1 { // the first looks at all processes of the machine
		s.adapt(cost() - before)
	}
	d.Interval = s.interval
	s.last = d
	return s.sent.Encode(nil, &d, s.list, s.size)
}

// adapt makes the interval longer if samples cost more than their share, and shorter again if they do not.
func (s *Sampler) adapt(used time.Duration) {
	part := share
	if s.asked < time.Second {
		part = shareShort
	}
	if s.spent == 0 {
		s.spent = used
	}
	s.spent += (used - s.spent) / 4
	s.interval = max((s.spent * time.Duration(part)).Round(time.Millisecond), s.asked)
}

// conceal replaces the names of programs.
func (s *Sampler) conceal() {
	if s.Conceal == nil {
		return
	}
	for i := range s.list {
		p := &s.list[i]
		name, ok := s.names[p.Program]
		if !ok {
			name = s.Conceal(p.Program)
			if s.names == nil || len(s.names) >= maxKnown {
				s.names = map[string]string{}
			}
			s.names[p.Program] = name
		}
		p.Program = name
	}
}

// Interval returns the time to the next sample.
func (s *Sampler) Interval() time.Duration { return s.interval }

// Close closes what the sampler has open.
func (s *Sampler) Close() {
	s.tree.Close()
	s.group.Close()
	s.log.Close()
}

// cost returns the processor time of this thread. The caller has locked it to its goroutine.
func cost() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
