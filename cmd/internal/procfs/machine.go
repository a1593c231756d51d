//go:build linux

package procfs

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Machine has the times of the processors of the machine, from its boot to a moment. The zero value stands
// for a moment that was not measured.
type Machine struct {
	known    bool
	busy     time.Duration // of all processors together, with what a hypervisor gave to others
	idle     time.Duration
	pressure time.Duration // some thread waited for a processor
	own      time.Duration // processor time of the processes that record
	pids     []int
}

// tick is the unit of times in /proc/stat: sysconf(_SC_CLK_TCK) is 100 on every architecture of Linux.
const tick = time.Second / 100

// Now measures. The pids are those of the processes that record: what they use is none of others.
func MachineNow(pids ...int) Machine {
	m := Machine{pids: pids}
	stat, err := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	f := strings.Fields(line)
	if err != nil || len(f) < 9 || f[0] != "cpu" {
		return m
	}
	const idle, wait, guest = 3, 4, 8 // guests' time is in user's, too
	for i, s := range f[1:min(1+guest, len(f))] {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case err != nil:
			return m
		case i == idle || i == wait:
			m.idle += time.Duration(n) * tick
		default:
			m.busy += time.Duration(n) * tick
		}
	}
	for _, pid := range pids {
		m.own += used(pid)
	}
	m.pressure = pressure()
	m.known = true
	return m
}

// used returns the processor time of a process.
func used(pid int) time.Duration {
	const user, system = 11, 12
	f := StatFields(pid)
	if len(f) <= system {
		return 0
	}
	u, _ := strconv.ParseInt(f[user], 10, 64)
	s, _ := strconv.ParseInt(f[system], 10, 64)
	return time.Duration(u+s) * tick
}

// pressure returns for how long some thread of the machine has waited for a processor, 0 if the kernel
// does not say so (CONFIG_PSI).
func pressure() time.Duration {
	b, _ := os.ReadFile("/proc/pressure/cpu")
	line, _, _ := strings.Cut(string(b), "\n")
	_, total, _ := strings.Cut(line, "total=")
	n, _ := strconv.ParseInt(total, 10, 64)
	return time.Duration(n) * time.Microsecond
}

// Describe adds to the data of a command's end what the machine did since a moment: the command's start.
func (m *Machine) Describe(d *posixtrace.ExitData) {
	if !m.known {
		return
	}
	now := MachineNow(m.pids...)
	if !now.known {
		return
	}
	d.Others = max(now.busy-m.busy-(now.own-m.own)-d.User-d.System, 0)
	d.Idle = max(now.idle-m.idle, 0)
	d.Pressure = max(now.pressure-m.pressure, 0)
}
