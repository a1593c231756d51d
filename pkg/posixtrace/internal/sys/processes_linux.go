package sys

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Children returns the children of pid. A child that starts meanwhile may be missing.
func Children(pid int) ([]int, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, unix.ESRCH
	}
	var list []int
	for _, t := range threads {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			if _, e := os.Stat(dir + "/" + t.Name()); e != nil {
				continue // the thread has ended
			}
			return childrenByScan(pid) // a kernel without CONFIG_PROC_CHILDREN
		}
		for _, f := range bytes.Fields(b) {
			if n, err := strconv.Atoi(string(f)); err == nil {
				list = append(list, n)
			}
		}
	}
	return list, nil
}

func childrenByScan(pid int) (list []int, err error) {
	err = EachProcess(func(s *ProcStat) {
		if s.PPID == pid {
			list = append(list, s.PID)
		}
	})
	return list, err
}

// EachProcess calls f for every process that /proc shows, zombies included.
func EachProcess(f func(*ProcStat)) error {
	d, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := Stat(pid); err == nil {
			f(&s)
		}
	}
	return nil
}
