//go:build linux

package hang

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

const (
	lookEvery  = time.Millisecond / 2 // of the thread's processor time, at its instruction pointer
	lookFor    = 30 * time.Millisecond
	mostLooked = 16 // threads
)

// places finds where in their programs the busy threads of the tree spend their time. The kernel notes the
// instruction pointer of a thread at intervals (perf_event_open(2)), and stops none.
//
// For a stack, it copies the registers and a part of the stack, once.
func (w *world) places(stacks bool) {
	type look struct{ place, stack *sampler }
	looks := map[*thread]look{}
	for _, t := range w.order[:w.first] {
		if t.Kind != Busy || len(looks) == mostLooked {
			continue
		}
		s, err := newSampler(t.TID, placeSample, 1)
		if err != nil {
			w.hide("places of busy threads", err)
			if err == unix.ESRCH { // it has ended
				continue
			}
			break
		}
		looks[t] = look{place: s}
		if stacks && tracer.Architecture != nil {
			s, err := newSampler(t.TID, stackSample, stackPages)
			w.hide("stacks of busy threads", err)
			looks[t] = look{looks[t].place, s}
		}
	}
	if len(looks) == 0 {
		return
	}
	time.Sleep(lookFor)
	for t, l := range looks {
		var at []uint64
		for _, b := range l.place.close() {
			if len(b) >= 8 {
				at = append(at, binary.NativeEndian.Uint64(b))
			}
		}
		t.Note, t.hot = place(t.PID, at)
		if l.stack != nil {
			if list := l.stack.close(); len(list) > 0 {
				t.sample = list[0]
			}
		}
	}
}

// What the kernel notes of a thread: with stackSample at most stackSize bytes of the stack.
const (
	placeSample = unix.PERF_SAMPLE_IP
	stackSample = unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER
	stackSize   = 16 << 10
	stackPages  = 8
)

// sampler is where the kernel notes something of a thread.
type sampler struct {
	fd   int
	page int
	ring []byte // a page of struct perf_event_mmap_page, and those of records
}

func newSampler(tid int, what uint64, pages int) (*sampler, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: uint64(lookEvery), Sample_type: what,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	if what == stackSample {
		attr.Sample_regs_user, attr.Sample_stack_user = sampledRegisters, stackSize
	}
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	// The kernel does not overwrite the records of a ring that may be written, since none is marked as read.
	page := unix.Getpagesize()
	ring, err := unix.Mmap(fd, 0, (1+pages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &sampler{fd, page, ring}, nil
}

// close returns the samples.
func (s *sampler) close() (list [][]byte) {
	const (
		headerSize = 8 // struct perf_event_header: type, misc, size
		typeSample = 9 // PERF_RECORD_SAMPLE
	)
	head := atomic.LoadUint64(&(*unix.PerfEventMmapPage)(unsafe.Pointer(&s.ring[0])).Data_head)
	records := s.ring[s.page:]
	for b := records[:min(head, uint64(len(records)))]; len(b) >= headerSize; {
		size := int(binary.NativeEndian.Uint16(b[6:]))
		if size < headerSize || size > len(b) {
			break
		}
		if binary.NativeEndian.Uint32(b) == typeSample {
			list = append(list, bytes.Clone(b[headerSize:size]))
		}
		b = b[size:]
	}
	unix.Munmap(s.ring)
	unix.Close(s.fd)
	return list
}

// busyStack finds the stack of a thread from a sample: its registers, and the bytes of the stack.
func (t *thread) busyStack(c *callers) {
	const (
		wide  = 2 // PERF_SAMPLE_REGS_ABI_64
		words = 1 + len(sampledNumbers) + 1
	)
	b := t.sample
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(b[8*i:]) }
	if len(b) < 8*words || word(0) != wide {
		t.note("no stack: it was not seen at work")
		return
	}
	regs := tracer.Architecture.At(word(1+sampledPC), word(1+sampledSP))
	for i, n := range sampledNumbers {
		regs.Set(n, word(1+i))
	}
	at, stack := word(1+sampledSP), b[8*words:]
	stack = stack[:min(word(words-1), uint64(len(stack)))]
	c.walk(t, &regs, func(addr uint64, to []byte) int {
		n := t.memoryAt(addr, to)
		if first, end := max(addr, at), min(addr+uint64(len(to)), at+uint64(len(stack))); first < end {
			copy(to[first-addr:end-addr], stack[first-at:])
			n = max(n, int(end-addr))
		}
		return n
	})
}

// hot is the place where a busy thread was most often.
type hot struct {
	m     posixtrace.MapData
	addr  uint64
	at    int64
	where string // in the note, without the name
}

// place says where most of the instruction pointers of a process are.
func place(pid int, at []uint64) (string, *hot) {
	if len(at) == 0 {
		return "", nil // it is busy in the kernel, or found no processor
	}
	files, offsets, example := map[string]int{}, map[string]map[uint64]int{}, map[string]map[uint64]hot{}
	for _, ip := range at {
		file, offset := "memory of no file", ip
		m, err := tool.Mapping(pid, ip)
		if err == nil && m.Path != "" {
			file, offset = m.Path, ip-m.Start+m.Offset
		}
		if files[file]++; offsets[file] == nil {
			offsets[file], example[file] = map[uint64]int{}, map[uint64]hot{}
		}
		offsets[file][offset]++
		example[file][offset] = hot{m: m, addr: ip}
	}
	file := mostFrequent(files)
	offset := mostFrequent(offsets[file])
	h := example[file][offset]
	h.at, h.where = time.Now().UnixNano(), fmt.Sprintf("at %#x", offset)
	return fmt.Sprintf("in %d of %d looks in %s, most often ", files[file], len(at), file) + h.where, &h
}

// mostFrequent returns the key with the highest count, the least of several.
func mostFrequent[K string | uint64](counts map[K]int) (best K) {
	for k, n := range counts {
		if n > counts[best] || n == counts[best] && k < best {
			best = k
		}
	}
	return best
}
