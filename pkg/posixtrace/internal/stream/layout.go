package stream

//go:generate go run ../../../../libposixtrace/layout ../../../../libposixtrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// The read word of a chunk: how far it has been consumed.
//
//	gen 20 | frozen 1 | 13 unused | count 15 | offset/8 15
type readWord uint64

const frozenBit = 1 << 43

func makeRead(gen uint64) readWord { return readWord((gen & genMask) << genShift) }
func (r readWord) gen() uint64     { return uint64(r) >> genShift }
func (r readWord) frozen() bool    { return r&frozenBit != 0 }
func (r readWord) count() int      { return int(r&countMask) >> countShift }
func (r readWord) at(n, off int) readWord {
	return r&^(offMask|countMask) | readWord(n<<countShift|off/8)
}

// renewed is the read word r of a chunk for the next generation with the same events.
func (r readWord) renewed(c ctl) readWord {
	n := makeRead(c.gen() + 1)
	if r.gen() == c.gen() {
		n |= r & (offMask | countMask)
	}
	return n
}

// The loss word of a chunk: the total of events lost by overwriting, and the generation for which
// the last addition was made, so that it is made only once.
const lossMask = 1<<genShift - 1

// lostTotal is how many events were lost of the chunk.
func (d *desc) lostTotal() uint64 {
	o, l := d.lostOver.Load(), d.lost.Load()
	n := o & lossMask
	if n > 0 && o>>genShift == (l>>genShift+1)&genMask {
		n-- // the total is about to wrap
	}
	return n<<genShift + l&lossMask
}

// desc is the descriptor of a chunk.
type desc struct {
	ctl       atomic.Uint64
	base      atomic.Uint64 // first base of the deltas
	lost      atomic.Uint64 // gen 20 | total 44
	lostFirst atomic.Uint64 // tick of the first event lost and not yet reported
	lostLast  atomic.Uint64 // tick of the last event lost
	sites     atomic.Uint64 // how many sites a partial chunk has: a readWord with generation and offset
	startedAt atomic.Uint64 // tick when begin made it, whatever the times of its events
	enteredAt atomic.Uint64 // tick when a writer last came to it from another chunk

	// Readers store these. A writer of the chunk does not wait for their cache line.
	read      atomic.Uint64 // readWord
	reported  atomic.Uint64 // part of the total lost that OVERFLOW has reported
	last      atomic.Uint64 // tick of the last event, in a chunk that other writers may adopt
	lostOver  atomic.Uint64 // as lost: how often the total has wrapped
	cleared   atomic.Uint64 // the part that a clear found and could not free: readWord, wasCleared
	clearedAt atomic.Uint64 // tick of that clear
	notes     atomic.Uint64 // bytes of notes on mappings
	_         uint64
}

const descSize = 128

// Limits of the tables in the header.
const (
	MaxSlots      = 1 << slotBits
	maxPermits    = 64
	maxOpenChunks = 16
	maxAnchors    = 256
	// MaxPatterns is how many name patterns a filter can have.
	MaxPatterns = 64
	patternSize = 256
)

// Flags of the state word; above them it counts the changes of control.
const (
	Running      = 1 << iota // events are recorded
	Full                     // stopped for lack of room: events are counted as lost
	LogFull                  // stopped because the log is full
	NoRestart                // the automatic restart was cancelled
	StopReported             // the automatic STOP is reported
	Dead                     // shut down
	filterB                  // filter[1] is in force, not filter[0]
	filterChange             // the filter has changed, and the tick of the change is not yet fixed
	lossB                    // lossAccounts[1] is in use, not lossAccounts[0]
	stateGen     = 1 << 16
	stateFlags   = stateGen - 1
)

// Clock kinds.
const (
	ClockMonotonic = 0 // ticks are CLOCK_MONOTONIC in nanoseconds
	ClockTicks     = 1 // ticks are the processor's counter
)

// stable is the start of the file. It, the two words behind it and fixed are the same in all versions: a process
// whose package has another version counts itself in the two words, and Peek shows what fixed says.
type stable struct {
	magic      [8]byte
	version    uint32
	headerSize uint32
	size       uint64
	id         uint64
}

// fixed is the part that is written once, before any other process sees the file. Of a later version, all of
// it must stay as it is here (testdata/stable/layout.txt).
type fixed struct {
	chunkSize   uint32
	chunks      uint32
	permits     uint32 // how many chunks writers may own at once
	openChunks  uint32 // how many open chunks there are
	clock       uint32
	hasLog      uint32 // 1: it has a log, 2: in a regular file
	mono        uint64 // CLOCK_MONOTONIC when it was created
	logDev      uint64
	logIno      uint64
	creator     uint64 // packed identity
	pidns       uint64 // pid namespace of all pids in the file
	createdTick uint64 // time of the creation since the boot, in the unit of process start times
	logPathLen  uint32
	cmdLen      uint32
	bootID      [40]byte
	attributes  attr.Block
	logPath     [4096]byte
	cmd         [1024]byte
}

// account counts events that found no room.
type account struct {
	lost     atomic.Uint64 // how often it was closed 20 | total 44
	first    atomic.Uint64 // tick of the first unreported loss
	last     atomic.Uint64 // tick of the last loss
	reported atomic.Uint64 // part of the total that is reported
	overflow atomic.Uint64 // 1: OVERFLOW is reported since the account was last closed
}

func (a *account) total() uint64 { return a.lost.Load() & lossMask }

// markWords are the state of the marks (marks.go).
type markWords struct {
	// Losses for lack of room. Under LOOP, where each chunk has an account of its own, the first
	// of the two counts events that found no chunk at all.
	lossAccounts [2]account
	losses       atomic.Uint64 // rises with each loss that is accounted for

	// The gap: OVERFLOW is reported, RESUME is not.
	gapEnd        atomic.Uint64 // RESUME is pending before the first event after this tick; 0: no gap
	gapNext       atomic.Uint64 // tick of the first such event in the log, if later flushes may bring older ones
	lastResume    atomic.Uint64 // tick of the last RESUME in the log
	pendingRecord atomic.Uint64 // the event of a RESUME that is reported: clears at that time 32 | count 14 | size 18

	// OVERFLOW between a stop for lack of room and the next START.
	pendingOverflow  atomic.Uint64 // tick of an OVERFLOW of an earlier stop or flush, unreported; 0: none
	recordedOverflow atomic.Uint64 // 1: the chunks may hold OVERFLOW events

	// The stop for lack of room.
	autoStop  atomic.Uint64 // tick of the stop; 0: not known yet
	stopCause atomic.Uint64 // data of its STOP
	stopBy    atomic.Uint64 // process and thread of its STOP; 0: the stream stopped on its own
	stopAddr  atomic.Uint64 // address of its STOP

	// Flushes.
	flushStop atomic.Uint64 // tick of a FLUSH_STOP that the log lacks; 0: none
	failTick  atomic.Uint64 // tick of a failed automatic flush that the log does not report yet; 0: none
	failErrno atomic.Uint64
	flushedTo atomic.Uint64 // the last flush has taken everything up to this tick
	lastTick  atomic.Uint64 // tick of the last event reported: no mark is earlier
}

// front is what each event loads. Writers store nothing here, nor near it.
type front struct {
	state      atomic.Uint64 // flags and count of changes
	tickOffset atomic.Uint64 // how far ticks are ahead of the counter, which may have gone back (tickoffset.go)
	horizon    atomic.Uint64 // a tick: events that start from now on are later (horizon.go)
	_          [5]uint64

	// Two, so that a change takes effect at one instant: the state word says which is in force.
	filter [2][event.SetWords]atomic.Uint64
}

// header is the start of the file.
type header struct {
	stable

	// Failed attempts of processes to become writers, and the error number of the last.
	missed    atomic.Uint32
	missedErr atomic.Uint32

	fixed

	_ [64]byte
	front
	_ [64]byte

	owner    atomic.Uint64 // packed identity of the process whose death shuts the stream down
	target   atomic.Uint64 // packed identity of the traced process, 0 while there is none
	family   atomic.Uint64 // the family whose names the events have
	readLock atomic.Uint64 // the process that reads and consumes (LockReader), 0: none
	seq      atomic.Uint64 // rises when a chunk is claimed or left
	handed   atomic.Uint32 // 1: handed over to its target; there is no owner to wait for
	held     atomic.Uint32 // 1: the owner holds the file (sys.Hold) as long as its program runs

	partials        atomic.Uint64 // somePartial
	clears          atomic.Uint64 // how often the stream was cleared
	lostRead        atomic.Uint64 // total of lost events when the status was last read
	logLost         atomic.Uint64 // events that reached the stream and not the log
	late            atomic.Uint64 // events reported out of order
	damage          atomic.Uint64 // records that made no sense
	filterChangedAt atomic.Uint64 // tick of the last change of the filter

	markWords

	logOverrun atomic.Uint32
	loopFull   atomic.Uint32 // a LOOP stream overwrites
	flushing   atomic.Uint32
	flushErr   atomic.Uint32
	logFull    atomic.Uint32
	flushAsk   atomic.Uint32 // ticket of the last flush requested of the owner
	clearAsk   atomic.Uint32 // 1: a clear is requested, too
	flushDone  atomic.Uint32 // ticket of the last flush done
	flushRes   atomic.Uint32 // its errno
	shutAsk    atomic.Uint32 // 1: a shutdown is requested of the owner
	shutRes    atomic.Uint32 // errno of completing the log
	sync       atomic.Uint32 // 1: every flush ends with the log on its device
	syncAsk    atomic.Uint32 // 1: the next flush requested does
	syncDone   atomic.Uint32 // ticket of the last flush that did
	syncErr    atomic.Uint32 // errno of the first sync that failed

	nanchors atomic.Uint32
	npat     atomic.Uint32
	anchors  [maxAnchors][2]atomic.Uint64

	slots       [MaxSlots]atomic.Uint64 // packed identities of the writers; slot 0 is unused
	permitTable [maxPermits]atomic.Uint64
	openTable   [maxOpenChunks]atomic.Uint64

	patterns [MaxPatterns][patternSize]byte

	owing [MaxSlots / 64]atomic.Uint64 // by slot, 1: its writer has accepted an event that it has not recorded
}

const headerSize = (int(unsafe.Sizeof(header{})) + 4095) &^ 4095

// Geometry is the sizes of the parts of a file.
type Geometry struct {
	ChunkSize  int
	Chunks     int
	Permits    int
	OpenChunks int
	MinSize    int64 // stream-min-size, raised if the attributes need it
	Size       int64 // of the file
}

// leastPermits is how many permits a stream has at least, unless it is too small for them.
const leastPermits = 20

// MaxSystemData is the largest data of a system event of POSIX: FILTER with two sets.
const MaxSystemData = 2 * event.MaxEncodedSet

// noteRoom is the part of a chunk that notes on mappings may take in a stream that keeps its events.
func noteRoom(chunk int) int { return max(chunk/mapShare, leastNotes) }

const (
	mapShare   = 16
	leastNotes = 512
)

// maxFile bounds a stream so that sizes cannot overflow.
const maxFile = 1 << 40

// Measure computes the geometry. processors is how many writers are expected
// to run at once. It returns false when the sizes cannot be met.
func Measure(minSize int64, maxData, processors int) (g Geometry, ok bool) {
	if minSize < 0 || maxData < 0 || maxData > chunk.MaxData || minSize > maxFile/2 {
		return g, false
	}
	largest := int64(chunk.EventSize(max(maxData, MaxSystemData)))
	minSize = max(minSize, largest+int64(chunk.EventSize(maxData)))
	size := int64(4096)
	for size < 64<<10 && size*64 < minSize || size < 2*largest {
		size *= 2
	}
	least := int64(min(max(4, 2*processors), maxPermits))
	permits, openChunks := max(least, leastPermits), int64(4)
	if minSize >= 4<<20 {
		// The chunks that are owned or open should take at most a twentieth of a large stream.
		for size > 32<<10 && size >= 4*largest && (permits+openChunks)*size > minSize/20 {
			size /= 2
		}
		for size > 16<<10 && size >= 4*largest && (least+2)*size > minSize/16 {
			size /= 2
		}
		if permits = max(least, min(permits, minSize/20/size-openChunks)); permits == least {
			openChunks = int64(min(max(2, processors), 4))
		}
	}
	// The room that a chunk may leave unused at its end, and chunks that are owned
	// or open and not yet full, do not count towards the requested size.
	largest = max(largest, int64(chunk.EventSize(maxData)+noteRoom(int(size))))
	n := (minSize + size - largest - 1) / (size - largest)
	permits = min(permits, max(4, n))
	openChunks = min(openChunks, max(2, n/4))
	n += permits + openChunks
	g = Geometry{ChunkSize: int(size), Chunks: int(n), Permits: int(permits), OpenChunks: int(openChunks), MinSize: minSize}
	g.Size = int64(dataOffset(int(n))) + n*size + int64(pendingSize(maxData))
	return g, g.Size <= maxFile
}

func agesOffset() int           { return headerSize }
func freeOffset(chunks int) int { return agesOffset() + align64(8*chunks) }
func descOffset(chunks int) int { return freeOffset(chunks) + align64(8*((chunks+63)/64)) }
func dataOffset(chunks int) int {
	return align64(descOffset(chunks) + descSize*chunks)
}
func align64(n int) int { return (n + 127) &^ 127 }
