package posixtrace

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"
)

// ResSampleData is the data of EventResSample: what a command and the processes below it, and their cgroup,
// have used until a moment. The event is that of the command. Extension.
//
// A sample whose processes do not fit into an event has several events, parts of one number. All numbers
// but Changes and Ended are those of the whole sample.
type ResSampleData struct {
	Number    int  // of the sample in the run, from 1
	Full      bool // Changes has all processes, as they are, not as differences
	Continues bool // another part follows
	Part      int  // from 0
	Interval  time.Duration

	Processes, Threads int
	Descriptors        int           // that are open, those of unreadable processes apart
	RSS                int64         // resident memory, bytes; shared memory counts for each process
	CPU                time.Duration // processor time, with that of processes that have ended
	Read, Written      int64         // bytes from and to devices

	Group       bool  // the cgroup's figures are known
	Memory      int64 // the cgroup's, with its share of the page cache
	Peak        int64 // the most that Memory was, or 0
	Limit       int64 // of Memory, or 0
	OOMKills    int64 // processes of the cgroup that the OOM killer has killed
	OOMProcess  int   // the last process of the command that it killed, by the kernel's log, or 0
	Throttled   time.Duration
	CPUStall    time.Duration // some thread waited for a processor
	MemoryStall time.Duration // the same, for memory
	IOStall     time.Duration // the same, for a device

	// LimitProcess is a process that had as many descriptors open as its limit RLIMIT_NOFILE permits, or 0.
	LimitProcess int
	// DirectoryFull says that the file system of the working directory had no room, TemporaryFull the same of
	// another one, with the directory for temporary files. The last sample of a command that failed knows them.
	DirectoryFull, TemporaryFull bool

	Changes []ResProcess // by pid
	Ended   []int        // pids
}

// ResProcess is a process in a sample; in a sample that is not full, what has changed since the one before:
// numbers are differences, and Program is "" if it is the same.
type ResProcess struct {
	PID, Parent   int // Parent is not a difference: 0 if it is the same
	Program       string
	Threads       int
	Descriptors   int
	RSS           int64
	CPU           time.Duration
	Read, Written int64
}

const (
	resDataSize = 4*6 + 8*13 + 8

	resFull      = 1 << 0
	resContinues = 1 << 1
	resGroup     = 1 << 2
	resDirectory = 1 << 3 // is full
	resTemporary = 1 << 4

	// maxResProgram is the most of a program's name: the kernel has 15 bytes of it, and 63 of a thread of its own.
	maxResProgram = 63
	// resUnit is the unit of processor time: the kernel counts in longer ones.
	resUnit = time.Millisecond
	// MaxResProcesses bounds the processes of a sample.
	MaxResProcesses = 1 << 16
)

// numbers returns the numbers of 64 bits in the order of the encoded form.
func (d *ResSampleData) numbers() [13]*int64 {
	return [...]*int64{(*int64)(&d.Interval), &d.RSS, (*int64)(&d.CPU), &d.Read, &d.Written, &d.Memory, &d.Peak, &d.Limit, &d.OOMKills,
		(*int64)(&d.Throttled), (*int64)(&d.CPUStall), (*int64)(&d.MemoryStall), (*int64)(&d.IOStall)}
}

// Append appends the encoded form. Figures of a cgroup that are unknown are 0.
func (d *ResSampleData) Append(b []byte) []byte {
	le := binary.LittleEndian
	flags := uint32(0)
	for i, set := range [...]bool{d.Full, d.Continues, d.Group, d.DirectoryFull, d.TemporaryFull} {
		if set {
			flags |= 1 << i
		}
	}
	for _, v := range [...]uint32{uint32(d.Number), flags, uint32(d.Part), uint32(d.Processes), uint32(d.Threads), uint32(d.Descriptors)} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range d.numbers() {
		b = le.AppendUint64(b, uint64(*v))
	}
	b = le.AppendUint32(b, uint32(d.OOMProcess))
	b = le.AppendUint32(b, uint32(d.LimitProcess))
	before := 0
	for i := range d.Changes {
		p := &d.Changes[i]
		b = appendResProcess(b, p, p.PID-before)
		before = p.PID
	}
	if len(d.Ended) > 0 {
		b = append(b, 0) // no process differs by 0 from the one before
		before = 0
		for _, pid := range d.Ended {
			b = binary.AppendUvarint(b, uint64(pid-before))
			before = pid
		}
	}
	return b
}

// What follows the pid of a process: a byte of bits for the numbers that are not 0, then these.
func appendResProcess(b []byte, p *ResProcess, pid int) []byte {
	b = binary.AppendUvarint(b, uint64(pid))
	at := len(b)
	b = append(b, 0)
	for i, v := range p.numbers() {
		if v != 0 {
			b[at] |= 1 << i
			b = binary.AppendVarint(b, v)
		}
	}
	if p.Program != "" {
		name := p.Program[:min(len(p.Program), maxResProgram)]
		b[at] |= 1 << 7
		b = append(append(b, byte(len(name))), name...)
	}
	return b
}

// numbers returns the numbers of a process in the units of the encoded form.
func (p *ResProcess) numbers() [7]int64 {
	return [...]int64{int64(p.Parent), int64(p.Threads), int64(p.Descriptors), p.RSS >> 10, int64(p.CPU / resUnit), p.Read >> 10, p.Written >> 10}
}

func (p *ResProcess) set(v [7]int64) {
	p.Parent, p.Threads, p.Descriptors = int(int32(v[0])), int(int32(v[1])), int(int32(v[2]))
	p.RSS, p.CPU = v[3]<<10, time.Duration(v[4])*resUnit
	p.Read, p.Written = v[5]<<10, v[6]<<10
}

// DecodeResSample decodes the data of EventResSample. If the record was truncated, the last processes are
// lacking. Errors: EINVAL malformed data.
func DecodeResSample(data []byte) (d ResSampleData, err error) {
	if len(data) < resDataSize {
		return d, einval("DecodeResSample", "res.sample data of %d bytes", len(data))
	}
	le := binary.LittleEndian
	n := func(i int) int { return int(int32(le.Uint32(data[4*i:]))) }
	flags := n(1)
	d.Full, d.Continues, d.Group = flags&resFull != 0, flags&resContinues != 0, flags&resGroup != 0
	d.DirectoryFull, d.TemporaryFull = flags&resDirectory != 0, flags&resTemporary != 0
	d.Number, d.Part, d.Processes, d.Threads, d.Descriptors = n(0), n(2), n(3), n(4), n(5)
	for i, v := range d.numbers() {
		*v = int64(min(le.Uint64(data[24+8*i:]), math.MaxInt64))
	}
	d.OOMProcess, d.LimitProcess = n(24/4+2*13), n(24/4+2*13+1)
	d.decodeProcesses(data[resDataSize:])
	return d, nil
}

// decodeProcesses decodes the processes up to the first that is not whole.
func (d *ResSampleData) decodeProcesses(b []byte) {
	pid := uint64(0)
	for len(b) > 0 && len(d.Changes) < MaxResProcesses {
		step, n := binary.Uvarint(b)
		if n <= 0 || step > math.MaxInt32 || pid+step > math.MaxInt32 {
			return
		}
		if b = b[n:]; step == 0 {
			d.decodeEnded(b)
			return
		}
		pid += step
		if len(b) == 0 {
			return
		}
		p, bits := ResProcess{PID: int(pid)}, b[0]
		b = b[1:]
		var v [7]int64
		for i := range v {
			if bits&(1<<i) == 0 {
				continue
			}
			if v[i], n = binary.Varint(b); n <= 0 || v[i] > maxResNumber || v[i] < -maxResNumber {
				return
			}
			b = b[n:]
		}
		p.set(v)
		if bits&(1<<7) != 0 {
			if len(b) == 0 || int(b[0]) > min(len(b)-1, maxResProgram) {
				return
			}
			p.Program, b = string(b[1:1+int(b[0])]), b[1+int(b[0]):]
		}
		d.Changes = append(d.Changes, p)
	}
}

// maxResNumber bounds a number of a process, in the unit of the encoded form: sums of them fit into 64 bits.
const maxResNumber = 1 << 36

func (d *ResSampleData) decodeEnded(b []byte) {
	pid := uint64(0)
	for len(b) > 0 && len(d.Ended) < MaxResProcesses {
		step, n := binary.Uvarint(b)
		if n <= 0 || step == 0 || step > math.MaxInt32 || pid+step > math.MaxInt32 {
			return
		}
		pid, b = pid+step, b[n:]
		d.Ended = append(d.Ended, int(pid))
	}
}

// ResProcesses has the processes of the latest sample. The zero value has none.
type ResProcesses struct {
	all    map[int]ResProcess
	number int
	part   int
	known  bool // the parts until now follow each other
	more   bool // a part is to follow
}

// Add adds the processes of a sample and reports whether they are complete: the samples since a full one
// have all been added, with all their parts.
func (r *ResProcesses) Add(d *ResSampleData) bool {
	follows := r.known && !r.more && d.Part == 0 && d.Number == r.number+1
	if d.Part > 0 {
		follows = r.known && r.more && d.Number == r.number && d.Part == r.part+1
	}
	if d.Full && d.Part == 0 {
		follows = true
		clear(r.all)
	}
	r.known, r.more, r.number, r.part = follows, d.Continues, d.Number, d.Part
	if !follows {
		return false
	}
	if r.all == nil {
		r.all = map[int]ResProcess{}
	}
	for i := range d.Changes {
		c := &d.Changes[i]
		p, old := r.all[c.PID]
		if !old && len(r.all) >= MaxResProcesses {
			r.known = false
			return false
		}
		r.all[c.PID] = p.plus(c)
	}
	for _, pid := range d.Ended {
		delete(r.all, pid)
	}
	return !r.more
}

// All returns the processes, in no order. The caller must not change them.
func (r *ResProcesses) All() map[int]ResProcess { return r.all }

func (p ResProcess) plus(c *ResProcess) ResProcess {
	p.PID = c.PID
	p.Parent, p.Program = cmp.Or(c.Parent, p.Parent), cmp.Or(c.Program, p.Program)
	p.Threads, p.Descriptors = max(p.Threads+c.Threads, 0), max(p.Descriptors+c.Descriptors, 0)
	p.CPU = max(add(p.CPU, c.CPU), 0)
	p.RSS, p.Read, p.Written = max(add(p.RSS, c.RSS), 0), max(add(p.Read, c.Read), 0), max(add(p.Written, c.Written), 0)
	return p
}

// add adds without overflow, as a damaged log could ask for.
func add[T ~int64](x, y T) T {
	if y > 0 && x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}

// minus returns the change from q to p, and whether there is one.
func (p *ResProcess) minus(q *ResProcess) (c ResProcess, changed bool) {
	now, was := p.numbers(), q.numbers()
	for i := 1; i < len(now); i++ {
		now[i] -= was[i]
	}
	if now[0] == was[0] {
		now[0] = 0
	}
	c.set(now)
	if p.Program != q.Program {
		c.Program = p.Program
	}
	changed = c != ResProcess{}
	c.PID = p.PID
	return c, changed
}

// Encode appends to list the data of the next sample: d, with these processes, as differences to the sample
// before unless d.Full is set. Each has at most size bytes, if a process fits.
func (r *ResProcesses) Encode(list [][]byte, d *ResSampleData, processes []ResProcess, size int) [][]byte {
	if r.all == nil || d.Full {
		r.all, d.Full = map[int]ResProcess{}, true
	}
	slices.SortFunc(processes, func(p, q ResProcess) int { return cmp.Compare(p.PID, q.PID) })
	processes = processes[:min(len(processes), MaxResProcesses)]
	gone := maps.Clone(r.all)
	var changes []ResProcess
	for i := range processes {
		p := &processes[i]
		q := r.all[p.PID]
		if c, changed := p.minus(&q); changed {
			changes = append(changes, c)
			r.all[p.PID] = q.plus(&c) // what the reader has: units are coarser than numbers
		}
		delete(gone, p.PID)
	}
	ended := slices.Sorted(maps.Keys(gone))
	for _, pid := range ended {
		delete(r.all, pid)
	}
	room := max(size-resDataSize, 1)
	for d.Part = 0; ; d.Part++ {
		n, e := fitRes(changes, ended, room)
		d.Changes, d.Ended = changes[:n], ended[:e]
		changes, ended = changes[n:], ended[e:]
		d.Continues = len(changes)+len(ended) > 0
		list = append(list, d.Append(nil))
		if !d.Continues {
			return list
		}
	}
}

// fitRes returns how many processes fit into some bytes: one at least.
func fitRes(changes []ResProcess, ended []int, room int) (n, e int) {
	var b [128]byte
	before := 0
	for n < len(changes) {
		size := len(appendResProcess(b[:0], &changes[n], changes[n].PID-before))
		if size > room && n > 0 {
			return n, 0
		}
		room -= size
		before = changes[n].PID
		n++
	}
	before = 0
	room-- // for the mark
	for e < len(ended) {
		size := len(binary.AppendUvarint(b[:0], uint64(ended[e]-before)))
		if size > room && n+e > 0 {
			return n, e
		}
		room -= size
		before = ended[e]
		e++
	}
	return n, e
}

// RenameResSample replaces the names of programs in the data of EventResSample, and returns data itself if
// it is malformed or no name changes.
func RenameResSample(data []byte, name func(string) string) []byte {
	d, err := DecodeResSample(data)
	if err != nil {
		return data
	}
	changed := false
	for i := range d.Changes {
		p := &d.Changes[i]
		if p.Program == "" {
			continue
		}
		if s := name(p.Program); s != p.Program {
			p.Program, changed = s, true
		}
	}
	if !changed {
		return data
	}
	return d.Append(nil)
}
