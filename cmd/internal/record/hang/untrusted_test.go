//go:build linux

package hang

import (
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A row of locks says what it says, or nothing.
func TestParseLock(t *testing.T) {
	for _, tt := range []struct {
		row  string
		want lock
		ok   bool
	}{
		{"1: FLOCK  ADVISORY  WRITE 71 08:01:99 0 EOF\n", lock{kind: "FLOCK", pid: 71, device: "08:01:99", last: math.MaxUint64}, true},
		{"1: -> POSIX  ADVISORY  READ 71 08:01:99 5 9", lock{waits: true, kind: "POSIX", shared: true, pid: 71, device: "08:01:99", first: 5, last: 9}, true},
		{"\t2: OFDLCK ADVISORY  WRITE -1 08:01:99 0 0", lock{kind: "OFDLCK", pid: -1, device: "08:01:99"}, true},
		{"1: FLOCK  ADVISORY  WRITE 71 08:01:99 0", lock{}, false},
		{"->", lock{}, false},
		{"", lock{}, false},
	} {
		if got, ok := parseLock(tt.row); ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseLock(%q) = %+v, %v", tt.row, got, ok)
		}
	}
}

// One lock keeps another from being taken if they are of one file, of kinds that know of each other, overlap,
// and do not both only read.
func TestLockAgainst(t *testing.T) {
	a := lock{kind: "POSIX", device: "x", first: 10, last: 19}
	with := func(change func(l *lock)) lock { b := a; change(&b); return b }
	for _, tt := range []struct {
		name string
		b    lock
		want bool
	}{
		{"the same", a, true},
		{"another kind of fcntl", with(func(l *lock) { l.kind = "OFDLCK" }), true},
		{"flock", with(func(l *lock) { l.kind = "FLOCK" }), false},
		{"another file", with(func(l *lock) { l.device = "y" }), false},
		{"before", with(func(l *lock) { l.first, l.last = 0, 9 }), false},
		{"its first byte", with(func(l *lock) { l.first, l.last = 0, 10 }), true},
		{"its last byte", with(func(l *lock) { l.first, l.last = 19, math.MaxUint64 }), true},
		{"behind", with(func(l *lock) { l.first, l.last = 20, math.MaxUint64 }), false},
		{"to read", with(func(l *lock) { l.shared = true }), true},
	} {
		if a.against(tt.b) != tt.want || tt.b.against(a) != tt.want {
			t.Errorf("%s: not %v", tt.name, tt.want)
		}
	}
	if r := with(func(l *lock) { l.shared = true }); r.against(r) {
		t.Error("two locks to read are against each other")
	}
}

// Numbers of a call that no call can have are a set of which not all is seen.
func TestSetsAreBounded(t *testing.T) {
	at := uint64(1)
	th := &thread{w: newWorld(), p: &process{pid: os.Getpid()}, Thread: Thread{PID: os.Getpid()}}
	for _, n := range []uint64{1, mostPolled + 1, 1 << 61, math.MaxUint64} {
		if w := th.pollSet(at, n); !w.cut || len(w.list) > 0 {
			t.Errorf("pollSet(%d): %+v", n, w)
		}
		if w := th.selectSet(n, at, at, at); !w.cut || len(w.list) > 0 {
			t.Errorf("selectSet(%d): %+v", n, w)
		}
	}
	if len(th.w.hidden) > 0 {
		t.Errorf("memory that does not exist is not hidden: %v", th.w.hidden)
	}
}

// Processes may end, and begin, at each moment of a look.
func TestLookAmongTheShortLived(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do sleep 0.001 | cat & true | cat; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end, stack := time.Now().Add(time.Second), false; time.Now().Before(end); stack = !stack {
		r := Look([]int{cmd.Process.Pid}, Options{Pause: time.Millisecond, Stack: stack})
		r.Name(end)
		for _, n := range r.Notes {
			if strings.Contains(n, "no such") {
				t.Error(n)
			}
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
}

// A process that begins after the list of processes may hold what others wait for: nothing is known of it.
func TestProcessesThatBeginMeanwhile(t *testing.T) {
	for _, begins := range []bool{false, true} {
		w := newWorld()
		w.listProcesses()
		w.tree([]int{os.Getpid()})
		if begins {
			cmd := exec.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
		}
		w.listDescriptors()
		if w.refused != begins {
			t.Errorf("a process begins: %v; a holder may be unseen: %v", begins, w.refused)
		}
	}
}
