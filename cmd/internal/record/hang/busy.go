//go:build linux

package hang

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

const (
	lookEvery  = time.Millisecond / 2 // of the thread's processor time, at its instruction pointer
	lookFor    = 30 * time.Millisecond
	mostLooked = 16 // threads
)

// places finds where in their programs the busy threads of the tree spend their time. The kernel notes the
// instruction pointer of a thread at intervals (perf_event_open(2)), and stops none.
func (w *world) places() {
	looks := map[*thread]*sampler{}
	for _, t := range w.order[:w.first] {
		if t.Kind != Busy || len(looks) == mostLooked {
			continue
		}
		s, err := newSampler(t.TID)
		if err != nil {
			w.hide("places of busy threads", err)
			if err == unix.ESRCH { // it has ended
				continue
			}
			break
		}
		looks[t] = s
	}
	if len(looks) == 0 {
		return
	}
	time.Sleep(lookFor)
	for t, s := range looks {
		t.Note = place(t.PID, s.close())
	}
}

// sampler is where the kernel notes the instruction pointers of a thread.
type sampler struct {
	fd   int
	page int
	ring []byte // a page of struct perf_event_mmap_page, and one of records
}

func newSampler(tid int) (*sampler, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: uint64(lookEvery), Sample_type: unix.PERF_SAMPLE_IP,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	page := unix.Getpagesize()
	ring, err := unix.Mmap(fd, 0, 2*page, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &sampler{fd, page, ring}, nil
}

// close returns the instruction pointers.
func (s *sampler) close() (at []uint64) {
	const (
		headerSize = 8 // struct perf_event_header: type, misc, size
		typeSample = 9 // PERF_RECORD_SAMPLE
	)
	head := atomic.LoadUint64(&(*unix.PerfEventMmapPage)(unsafe.Pointer(&s.ring[0])).Data_head)
	// The page of records takes more than there are in the time, so none has overwritten another.
	for b := s.ring[s.page:][:min(head, uint64(s.page))]; len(b) >= headerSize; {
		size := int(binary.NativeEndian.Uint16(b[6:]))
		if size < headerSize || size > len(b) {
			break
		}
		if binary.NativeEndian.Uint32(b) == typeSample && size >= headerSize+8 {
			at = append(at, binary.NativeEndian.Uint64(b[headerSize:]))
		}
		b = b[size:]
	}
	unix.Munmap(s.ring)
	unix.Close(s.fd)
	return at
}

// place says where most of the instruction pointers of a process are.
func place(pid int, at []uint64) string {
	if len(at) == 0 {
		return "" // it is busy in the kernel, or found no processor
	}
	files, offsets := map[string]int{}, map[string]map[uint64]int{}
	for _, ip := range at {
		file, offset := "memory of no file", ip
		if m, err := tool.Mapping(pid, ip); err == nil && m.Path != "" {
			file, offset = m.Path, ip-m.Start+m.Offset
		}
		if files[file]++; offsets[file] == nil {
			offsets[file] = map[uint64]int{}
		}
		offsets[file][offset]++
	}
	file := mostFrequent(files)
	text := fmt.Sprintf("in %d of %d looks in %s", files[file], len(at), file)
	return text + fmt.Sprintf(", most often at %#x", mostFrequent(offsets[file]))
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
