package stream

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

var magic = [8]byte{'P', 'T', 'S', 'T', 'R', 'E', 'A', 'M'}

// version includes the size of a word: programs with words of another size must not use the file
// (INH-15).
const version = 1 | bits.UintSize<<16

// Policies of streams and logs.
const (
	Loop      = attr.Loop
	UntilFull = attr.UntilFull
	Flush     = attr.Flush
	Append    = attr.Append
)

// Config is everything in a stream that never changes.
type Config struct {
	Geometry
	attr.Attributes
	ID      uint64
	HasLog  bool
	LogFile bool // and it is a regular file
	LogPath string
	LogDev  uint64
	LogIno  uint64
	Creator sys.Proc
	PIDNS   uint64 // pid namespace of all pids
	BootID  string
	Command string // NUL-separated
	Clock   uint32
}

// Mem is a stream's file in memory. Its geometry was checked once and is
// never read again from the shared part.
type Mem struct {
	Config
	Policy  uint8 // StreamFullPolicy and MaxDataSize, for the path of an event
	MaxData int
	b       []byte
	h       *header
	private bool // on the heap, for the race detector
	desc    unsafe.Pointer
	data    unsafe.Pointer
	ages    []atomic.Uint64
	freeMap []atomic.Uint64
	end     uint64 // tick of the end of an orphan, see StopOrphan
}

// Format makes a stream of the zeroed memory b.
func Format(b []byte, cfg *Config, private bool) (*Mem, error) {
	if int64(len(b)) < cfg.Size || cfg.Size < int64(headerSize) {
		return nil, errors.New("memory too small")
	}
	h := (*header)(unsafe.Pointer(&b[0]))
	h.version, h.headerSize, h.size = version, uint32(headerSize), uint64(cfg.Size)
	h.chunkSize, h.chunks = uint32(cfg.ChunkSize), uint32(cfg.Chunks)
	h.permits, h.openChunks = uint32(cfg.Permits), uint32(cfg.OpenChunks)
	h.id, h.clock, h.hasLog = cfg.ID, cfg.Clock, uint32(b2u(cfg.HasLog)+b2u(cfg.LogFile))
	h.logDev, h.logIno, h.creator = cfg.LogDev, cfg.LogIno, cfg.Creator.Pack()
	a := cfg.Attributes
	a.StreamSize = uint64(cfg.MinSize)
	h.attributes = a.Block()
	h.logPathLen = uint32(copy(h.logPath[:], cfg.LogPath))
	h.cmdLen = uint32(copy(h.cmd[:], cfg.Command))
	copy(h.bootID[:], cfg.BootID)
	h.pidns = cfg.PIDNS
	h.owner.Store(h.creator)
	h.createdTick = sys.NowTicks()
	h.stopCause.Store(1)
	h.magic = magic
	m, err := Attach(b, private)
	if err != nil {
		return nil, err
	}
	for i := range m.Chunks {
		m.setFree(i)
	}
	// The first clock anchor: the wall clock at creation. From here on it is
	// CLOCK_MONOTONIC that counts, so that time never runs backwards.
	tick, mono := m.pair()
	now := sys.WallAt(mono)
	m.CreateTime, h.mono = attr.TimeOf(time.Unix(0, now)), mono
	h.attributes = m.Block()
	m.addAnchor(chunk.ClockAnchor{Tick: tick, Nanos: now})
	return m, nil
}

func b2u(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// Every error of Attach wraps one of these.
var (
	ErrFormat  = errors.New("not a trace stream")
	ErrForeign = errors.New("a trace stream of another version of posixtrace")
	// ErrElsewhere is for callers of Attach, which knows nothing of processes.
	ErrElsewhere = errors.New("a trace stream of another pid namespace")
	ErrShort     = sys.Wrap("cut short", ErrFormat) // of a stream that was one
)

// Attach checks that b holds a stream.
func Attach(b []byte, private bool) (*Mem, error) {
	// The header of another version may be smaller. Such a stream must not appear cut short, because what is
	// left of a stream is removed.
	if len(b) >= int(unsafe.Sizeof(stable{})) {
		if s := *(*stable)(unsafe.Pointer(&b[0])); s.magic == magic && s.version != version {
			return nil, foreign(&s)
		}
	}
	if len(b) < headerSize {
		return nil, fmt.Errorf("file of %d bytes: %w", len(b), ErrShort)
	}
	shared := (*header)(unsafe.Pointer(&b[0]))
	h := struct { // a copy: the file may change after the checks
		stable
		fixed
	}{shared.stable, shared.fixed}
	if h.magic != magic {
		return nil, ErrFormat
	}
	if h.version != version || h.headerSize != uint32(headerSize) {
		return nil, foreign(&h.stable)
	}
	m := &Mem{b: b, h: shared, private: private}
	a, ok := h.attributes.Attributes()
	g := Geometry{
		ChunkSize: int(h.chunkSize), Chunks: int(h.chunks), Permits: int(h.permits), OpenChunks: int(h.openChunks),
		MinSize: int64(a.StreamSize), Size: int64(h.size),
	}
	if g.Size > int64(len(b)) {
		return nil, fmt.Errorf("file of %d bytes, not %d: %w", len(b), g.Size, ErrShort)
	}
	if !ok || a.MaxDataSize > chunk.MaxData {
		return nil, fmt.Errorf("header: attributes out of range: %w", ErrFormat)
	}
	maxData := int(a.MaxDataSize)
	if g.Size != int64(len(b)) ||
		g.ChunkSize < 4096 || g.ChunkSize > chunk.MaxSize || g.ChunkSize&(g.ChunkSize-1) != 0 ||
		g.Chunks < 2 || g.Chunks > maxFile/4096 ||
		int64(dataOffset(g.Chunks))+int64(g.Chunks)*int64(g.ChunkSize)+int64(pendingSize(maxData)) != g.Size ||
		g.Permits < 1 || g.Permits > maxPermits || g.OpenChunks < 1 || g.OpenChunks > maxOpenChunks ||
		chunk.EventSize(max(maxData, MaxSystemData))*2 > g.ChunkSize ||
		h.logPathLen > uint32(len(h.logPath)) || h.cmdLen > uint32(len(h.cmd)) || h.clock > ClockTicks {
		return nil, fmt.Errorf("header: sizes out of range: %w", ErrFormat)
	}
	m.Config = Config{
		Geometry: g, Attributes: a, ID: h.id, HasLog: h.hasLog != 0, LogFile: h.hasLog > 1,
		LogPath: string(h.logPath[:h.logPathLen]), LogDev: h.logDev, LogIno: h.logIno,
		Creator: sys.Unpack(h.creator), PIDNS: h.pidns, BootID: string(bytes.TrimRight(h.bootID[:], "\x00")),
		Command: string(h.cmd[:h.cmdLen]), Clock: h.clock,
	}
	m.Policy, m.MaxData = uint8(min(a.StreamFullPolicy, math.MaxUint8)), maxData
	m.ages = unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&b[agesOffset()])), g.Chunks)
	m.freeMap = unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&b[freeOffset(g.Chunks)])), (g.Chunks+63)/64)
	m.desc = unsafe.Pointer(&b[descOffset(g.Chunks)])
	m.data = unsafe.Pointer(&b[dataOffset(g.Chunks)])
	return m, nil
}

// foreign returns the error about a stream that a program of another version or word size has made.
func foreign(s *stable) error {
	if bits := s.version >> 16; bits != version>>16 {
		return fmt.Errorf("%d-bit layout: %w", bits, ErrForeign)
	}
	return fmt.Errorf("layout %d, where this program has %d: %w", s.version&0xffff, version&0xffff, ErrForeign)
}

// Foreign is what is known of a stream of another version.
type Foreign struct {
	ID    uint64
	Err   error // wraps ErrForeign
	Known bool  // the rest is known
	Config
}

// PeekSize is how much of a file Peek needs.
const PeekSize = int(unsafe.Offsetof(header{}.fixed) + unsafe.Sizeof(fixed{}))

// Peek returns what is known of the stream of another version that begins with b, false if that is none.
func Peek(b []byte) (f Foreign, ok bool) {
	if len(b) < int(unsafe.Sizeof(stable{})) {
		return f, false
	}
	s := *(*stable)(unsafe.Pointer(&b[0]))
	if s.magic != magic || s.version == version {
		return f, false
	}
	f.ID, f.Err = s.id, foreign(&s)
	if len(b) < PeekSize {
		return f, true
	}
	h := *(*fixed)(unsafe.Pointer(&b[unsafe.Offsetof(header{}.fixed)]))
	a, ok := h.attributes.Attributes()
	if !ok || h.logPathLen > uint32(len(h.logPath)) {
		return f, true
	}
	f.Known = true
	f.Name, f.CreateTime = a.Name, a.CreateTime // the first two, which all versions have there
	f.LogPath, f.PIDNS = string(h.logPath[:h.logPathLen]), h.pidns
	return f, true
}

// DieWhenCut makes the stream appear shut down and empty if its file is truncated, as soon as this
// process accesses the missing part.
func (m *Mem) DieWhenCut(g *sys.Guard) { g.WhenCut(&m.h.state, Dead) }

// Bytes returns the memory.
func (m *Mem) Bytes() []byte { return m.b }

func (m *Mem) at(i int) *desc {
	return (*desc)(unsafe.Add(m.desc, i*descSize))
}

// bytes returns the memory of chunk i.
func (m *Mem) bytes(i int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.data, i*m.ChunkSize)), m.ChunkSize)
}

func (m *Mem) setFree(i int) { m.freeMap[i>>6].Or(1 << (i & 63)) }

// State returns the flags of the state word.
func (m *Mem) State() uint64 { return m.h.state.Load() & stateFlags }

// change sets and clears flags and counts the change, so that a writer that has loaded the state
// before does not publish the event that it has started.
func (m *Mem) change(set, clear uint64) (old uint64) {
	for {
		o := m.h.state.Load()
		n := (o|set)&^clear&stateFlags | (o&^stateFlags + stateGen)
		if m.h.state.CompareAndSwap(o, n) {
			return o & stateFlags
		}
	}
}

// Filter returns the set of rejected types.
func (m *Mem) Filter() (s event.Set) {
	f := &m.h.filter[m.h.state.Load()/filterB&1]
	for i := range s {
		s[i] = f[i].Load()
	}
	return
}

func (m *Mem) rejects(id event.ID) bool {
	return id.Valid() && m.h.filter[m.h.state.Load()/filterB&1][id>>6].Load()&(1<<(id&63)) != 0
}

// setFilter puts a set in force at one instant and returns its tick: every event judged by the old
// set is older, every one judged by the new set is younger. To that end no event is recorded for a
// moment between the two sets. A writer that comes in that moment does not wait: it fixes the
// instant itself.
func (m *Mem) setFilter(s *event.Set) (tick uint64) {
	now := m.h.state.Load() & filterB
	f := &m.h.filter[1-now/filterB]
	for i := range s {
		f[i].Store(s[i])
	}
	m.h.filterChangedAt.Store(unfixed | m.h.seq.Add(1))
	m.change(filterB&^now|filterChange, now)
	m.fixFilterChange()
	return m.h.filterChangedAt.Load() &^ unfixed
}

// unfixed marks, above a number that is never used again, that a change of the
// filter has no tick yet.
const unfixed = 1 << 63

// fixFilterChange ends the moment between two filters.
func (m *Mem) fixFilterChange() {
	for {
		st := m.h.state.Load()
		if st&filterChange == 0 {
			return
		}
		// The number belongs to this change if the state is still the same behind it.
		if t := m.h.filterChangedAt.Load(); t&unfixed != 0 && m.h.state.Load() == st {
			// The processor may read its counter long before it performs the exchange that
			// made the state; the kernel's clock is read in order.
			sys.Monotonic()
			now := m.now() &^ unfixed
			m.raiseHorizon(now) // events judged by the new set are later
			m.h.filterChangedAt.CompareAndSwap(t, now)
		}
		m.h.state.CompareAndSwap(st, st&^filterChange+stateGen)
	}
}

// Now is the stream's clock, in ticks.
func (m *Mem) Now() uint64 { return m.now() }

// Owner, Target and Family are words that a controller changes under the stream's lock.
func (m *Mem) Owner() sys.Proc      { return sys.Unpack(m.h.owner.Load()) }
func (m *Mem) SetOwner(p sys.Proc)  { m.h.owner.Store(p.Pack()) }
func (m *Mem) Target() sys.Proc     { return sys.Unpack(m.h.target.Load()) }
func (m *Mem) SetTarget(p sys.Proc) { m.h.target.Store(p.Pack()) }
func (m *Mem) Family() uint64       { return m.h.family.Load() }
func (m *Mem) SetFamily(f uint64)   { m.h.family.Store(f) }
func (m *Mem) HandedOver() bool     { return m.h.handed.Load() != 0 }
func (m *Mem) SetHandedOver()       { m.h.handed.Store(1) }

// Held reports whether the owner holds the stream's file. The kernel drops the hold when the owner
// executes another program.
func (m *Mem) Held() bool { return m.h.held.Load() != 0 }

// SetHeld notes whether the owner holds the file.
func (m *Mem) SetHeld(on bool) { m.h.held.Store(uint32(b2u(on))) }

// CreatedTick is when the stream was made, comparable with sys.Proc.Start.
func (m *Mem) CreatedTick() uint64 { return m.h.createdTick }

// Created is the stream's creation time.
func (m *Mem) Created() time.Time { return m.CreateTime.Time() }
