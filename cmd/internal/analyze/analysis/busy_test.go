package analysis

import (
	"math"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// What a run has lost to others is what it would have had without them: not what its commands have taken
// from each other, and not more than others used.
func TestBusy(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name           string
		wall, cpu      time.Duration
		delay          time.Duration
		processors     int
		others, idle   time.Duration
		pressure       time.Duration
		waited, used   float64
		worthy, killed bool
	}{
		{name: "alone", wall: 10 * s, cpu: 10 * s, delay: s / 100, processors: 2, others: s / 10, idle: 10 * s},
		{name: "starved", wall: 10 * s, cpu: 4 * s, delay: 6 * s, processors: 2, others: 16 * s, waited: .6, worthy: true},
		{name: "starved while it sleeps, too", wall: 10 * s, cpu: 2 * s, delay: 3 * s, processors: 2, others: 18 * s, waited: .3, worthy: true},
		{name: "eight at a time on two processors, alone", wall: 10 * s, cpu: 20 * s, delay: 60 * s, processors: 2, others: s / 10},
		{name: "eight at a time on two processors, beside others", wall: 10 * s, cpu: 10 * s, delay: 70 * s, processors: 2, others: 10 * s, waited: .5, worthy: true},
		{name: "threads of one process for each other, alone", wall: 10 * s, cpu: 73 * s, delay: 64 * s, processors: 64, others: s, idle: 560 * s, waited: .1 / 13.7},
		{name: "others that do not compete", wall: 10 * s, cpu: 10 * s, delay: s / 100, processors: 16, others: 100 * s, idle: 50 * s, waited: .001},
		{name: "a bit", wall: 10 * s, cpu: 9 * s, delay: s, processors: 2, others: 10 * s, waited: .1},
		{name: "for a moment", wall: s / 20, cpu: s / 100, delay: s / 25, processors: 2, others: s / 10, waited: 0},
		{name: "unknown machine", wall: 10 * s, cpu: 4 * s, delay: 6 * s, processors: 2},
		{name: "unknown processors", wall: 10 * s, cpu: 4 * s, delay: 6 * s, others: 16 * s},
		{name: "unknown wait", wall: 10 * s, cpu: 4 * s, processors: 2, others: 15 * s, idle: s, pressure: 9 * s, used: .75, worthy: true},
		{name: "unknown wait, alone", wall: 10 * s, cpu: 20 * s, processors: 2, pressure: 9 * s},
		{name: "unknown wait, idle machine", wall: 10 * s, cpu: 4 * s, processors: 2, others: 10 * s, idle: 6 * s, pressure: s / 10, used: .5},
		{name: "unknown wait, asleep", wall: 10 * s, cpu: s / 10, processors: 2, others: 19 * s, pressure: 9 * s, used: 19 / 19.1},
		{name: "killed", wall: 10 * s, cpu: 4 * s, delay: 6 * s, processors: 2, others: 16 * s, waited: .6, worthy: true, killed: true},
		{name: "absurd", wall: 10 * s, cpu: math.MaxInt64, delay: math.MaxInt64, processors: math.MaxInt32, others: math.MaxInt64, idle: math.MaxInt64, pressure: math.MaxInt64, waited: .5, worthy: true},
	} {
		w := newLog(10, BySelf)
		w.exec(0, 1, "/bin/make")
		d := posixtrace.ExitData{User: tt.cpu, RunDelay: tt.delay, Processors: tt.processors, Others: tt.others, Idle: tt.idle, Pressure: tt.pressure}
		if tt.killed {
			d.Signal = 9
		}
		w.event(tt.wall.Milliseconds(), posixtrace.EventProcExit, 1, d.Append(nil))
		w.a.Finish()
		b, ok := w.a.Runs()[0].Busy()
		if math.Abs(b.Waited-tt.waited) > .001 || math.Abs(b.Others-tt.used) > .001 || ok != tt.worthy {
			t.Errorf("%s: %.3f of the time, %.3f of the processors, worth a word: %v; want %.3f, %.3f, %v", tt.name, b.Waited, b.Others, ok, tt.waited, tt.used, tt.worthy)
		}
	}
}

// A run has waited as long as all of its commands together, also those that a signal has ended with it. Its processor time has that of commands for
// which no process waited.
func TestBusyOfAllCommands(t *testing.T) {
	w := newLog(10, BySelf)
	w.exec(0, 1, "/bin/sh")
	w.fork(0, 1, 2)
	w.exec(0, 2, "/bin/cc")
	w.fork(0, 1, 3)
	w.exec(0, 3, "/bin/sleep")
	end := func(at int64, pid int, d posixtrace.ExitData) {
		w.event(at, posixtrace.EventProcExit, pid, d.Append(nil))
	}
	end(900, 2, posixtrace.ExitData{User: 200 * time.Millisecond, RunDelay: 600 * time.Millisecond, Processors: 2})
	w.fork(950, 1, 4)
	end(1000, 1, posixtrace.ExitData{RunDelay: 100 * time.Millisecond, Processors: 2, Others: 2 * time.Second})
	end(1100, 4, posixtrace.ExitData{RunDelay: 50 * time.Millisecond, Processors: 2}) // by the same signal
	end(9000, 3, posixtrace.ExitData{RunDelay: 5 * time.Second, Processors: 2})       // in the background
	w.a.Finish()
	r := w.a.Runs()[0]
	if b, ok := r.Busy(); !ok || math.Abs(b.Waited-.75) > .001 || r.Delay != 750*ms {
		t.Errorf("%+v, %v, wait %d", b, ok, r.Delay)
	}
	list, _ := w.a.Commands()
	if c := command(t, list, "cc"); c.Delay != 600*ms || !c.Starved() {
		t.Errorf("wait of cc: %d, starved: %v", c.Delay, c.Starved())
	}
	for _, c := range list {
		if c.PID == 1 && (c.Delay != 100*ms || c.Starved()) {
			t.Errorf("wait of sh: %d, starved: %v", c.Delay, c.Starved())
		}
	}
}
