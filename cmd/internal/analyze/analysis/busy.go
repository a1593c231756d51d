package analysis

import "time"

// machine is what the machine did while a command ran: what posixtrace.ExitData has of it.
type machine struct {
	Processors int   // that the command might use
	Others     int64 // processor time of all other processes
	Idle       int64 // processor time that no process used
	Pressure   int64 // for which some thread of the machine waited
	used       int64 // processor time of all commands
}

// load adds what a command has used and has waited to that of its run. Those that a signal has ended with
// the first command end just after it.
func (p *processes) load(src *Source, at int64, c *Command) {
	const after = int64(time.Second)
	if !src.ended {
		src.used, src.delay = sum(src.used, c.CPU), sum(src.delay, c.Delay)
		return
	}
	for _, r := range p.runs {
		if end := sum(max(r.Start, 0), r.Wall); r.Source == src && c.Start <= end && since(at, end) <= after {
			r.Delay, r.used = sum(r.Delay, c.Delay), sum(r.used, c.CPU)
		}
	}
}

// Busy is how busy other processes kept the machine. One of the numbers is 0.
type Busy struct {
	Waited float64 // the part of the wall time that the run has lost because others had its processors
	Others float64 // the part of the machine's processors that others used, if it is unknown what the run lost
}

// What is worth a word. A machine that is not busy makes threads wait, too: for each other, and for some
// microseconds at each start. What is lost by that is far below.
const (
	busyWaited   = .2
	busyLeast    = int64(100 * time.Millisecond)
	busyOthers   = .5
	busyPressure = .5
	busyUsed     = .05 // a run that hardly needs a processor does not miss it
)

// Busy returns how busy others kept the machine while a run lasted; ok is false if that is unknown or not
// worth a word.
//
// On n processors, commands that want to run at c+w of them at a time, and run at c, lack w. Those that
// they have taken from each other, by wanting more than n, they have not lost, and others cannot have
// taken more than they used.
func (r *Run) Busy() (b Busy, ok bool) {
	all := float64(r.Others) + float64(r.Idle) + float64(r.used)
	if r.State != Ended || r.Wall < busyLeast || r.Processors <= 0 || r.Others == 0 && r.Idle == 0 {
		return b, false
	}
	wall := float64(r.Wall)
	ran, waited, others := float64(r.used)/wall, float64(r.Delay)/wall, float64(r.Others)/wall
	if r.Delay > 0 {
		want := min(ran+waited, float64(r.Processors))
		b.Waited = min(max(want-ran, 0), others) / max(want, 1)
		return b, b.Waited >= busyWaited && b.Waited*wall >= float64(busyLeast)
	}
	b.Others = float64(r.Others) / all
	return b, b.Others >= busyOthers && float64(r.Pressure)/wall >= busyPressure && ran >= busyUsed
}

// Starved reports whether the command waited long for a processor: a fifth of its time.
func (c *Command) Starved() bool {
	return c.Delay >= busyLeast && float64(c.Delay) >= busyWaited*float64(c.Wall)
}
