package main

import (
	"encoding/binary"
	"os/exec"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What perf_event_open(2) counts.
var (
	taskRecords []string // records of processes, which need no trace point and no privilege
	taskPoints  = []string{"sched/sched_process_fork", "sched/sched_process_exec", "sched/sched_process_exit"}
	callPoints  = []string{"raw_syscalls/sys_enter", "raw_syscalls/sys_exit"}
)

// perf reads the events of this thread's future children, for each processor from a buffer.
type perf struct {
	fds   []int
	rings [][]byte
	ids   []uint64 // of the trace points
	rest  []byte
}

const (
	perfPages = 256
	pageBytes = 4096
)

func openPerf(points []string) (source, error) {
	p := &perf{}
	attrs := []unix.PerfEventAttr{{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Bits: unix.PerfBitTask | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}}
	if points != nil {
		attrs = nil
	}
	for _, name := range points {
		id, err := tracepoint(name)
		if err != nil {
			return nil, err
		}
		p.ids = append(p.ids, id)
		attrs = append(attrs, unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Sample: 1})
	}
	runtime.LockOSThread()
	for cpu := range runtime.NumCPU() {
		for i, a := range attrs {
			a.Size = uint32(unsafe.Sizeof(a))
			a.Bits |= unix.PerfBitInherit | unix.PerfBitSampleIDAll | unix.PerfBitWatermark
			a.Sample_type = unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME
			if points != nil {
				a.Sample_type |= unix.PERF_SAMPLE_RAW
			}
			a.Wakeup = perfPages * pageBytes / 4
			fd, err := unix.PerfEventOpen(&a, 0, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, p.fds[len(p.fds)-1]); err != nil {
					return nil, err
				}
				continue
			}
			ring, err := unix.Mmap(fd, 0, (1+perfPages)*pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return nil, err
			}
			p.fds, p.rings = append(p.fds, fd), append(p.rings, ring)
		}
	}
	return p, nil
}

func (p *perf) start(cmd *exec.Cmd) error { return cmd.Start() }

func (p *perf) read(n *counts) error {
	if err := readable(p.fds); err != nil {
		return err
	}
	for _, ring := range p.rings {
		page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&ring[0]))
		data := ring[pageBytes:]
		head := atomic.LoadUint64(&page.Data_head)
		for tail := page.Data_tail; tail < head; {
			at := int(tail) % len(data)
			size := int(binary.NativeEndian.Uint16(data[at+6:])) // records are aligned to 8 bytes
			p.rest = append(p.rest[:0], data[at:min(at+size, len(data))]...)
			p.rest = append(p.rest, data[:size-len(p.rest)]...)
			p.count(p.rest, n)
			tail += uint64(size)
			atomic.StoreUint64(&page.Data_tail, tail)
		}
	}
	return nil
}

// count counts one record.
func (p *perf) count(b []byte, n *counts) {
	kind, misc := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint16(b[4:])
	switch kind {
	case unix.PERF_RECORD_FORK:
		n.forks++
	case unix.PERF_RECORD_EXIT:
		n.exits++
	case unix.PERF_RECORD_COMM:
		if misc&unix.PERF_RECORD_MISC_COMM_EXEC != 0 {
			n.execs++
		}
	case unix.PERF_RECORD_LOST:
		n.lost += int(binary.NativeEndian.Uint64(b[16:]))
	case unix.PERF_RECORD_SAMPLE:
		// header, pid and tid, time, size of the data, data: it begins with the number of the trace point
		id := uint64(binary.NativeEndian.Uint16(b[28:]))
		for i, counter := range []*int{&n.forks, &n.execs, &n.exits} {
			if len(p.ids) == 3 && id == p.ids[i] {
				*counter++
			}
		}
		if len(p.ids) == 2 && id == p.ids[0] {
			n.calls++
		} else if len(p.ids) == 2 {
			n.returns++
		}
	}
}
