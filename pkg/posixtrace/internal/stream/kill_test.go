package stream

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// The processes that get killed are this test binary.

const killEnv = "STREAM_TEST_KILL"

func init() {
	if strings.HasPrefix(os.Getenv(killEnv), "step ") {
		runtime.LockOSThread() // the thread that is traced
	}
}

func TestMain(m *testing.M) {
	if mode := os.Getenv(killEnv); mode != "" {
		victim(mode)
		return
	}
	code := m.Run()
	removeCPeers()
	os.Exit(code)
}

// oracle is a second shared page: how many events a writer was about to record,
// how many it has recorded and how many were refused.
type oracle struct {
	before, recorded, refused atomic.Uint64
	_                         [5]uint64
}

const oracles = 1024

func mapFile(path string, size int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	return sys.Map(f, size, true)
}

func openShared(dir string) (*Mem, []oracle, error) {
	path := filepath.Join(dir, "stream")
	st, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	b, err := mapFile(path, int(st.Size()))
	if err != nil {
		return nil, nil, err
	}
	m, err := Attach(b, false)
	if err != nil {
		return nil, nil, err
	}
	o, err := mapFile(filepath.Join(dir, "oracle"), oracles*int(unsafe.Sizeof(oracle{})))
	if err != nil {
		return nil, nil, err
	}
	return m, unsafe.Slice((*oracle)(unsafe.Pointer(&o[0])), oracles), nil
}

func victim(mode string) {
	m, all, err := openShared(os.Getenv("STREAM_TEST_DIR"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	who, _ := strconv.Atoi(os.Getenv("STREAM_TEST_WHO"))
	if strings.HasPrefix(mode, "storm ") {
		stormVictim(m, all, who, mode)
		return
	}
	slot, ok := m.TakeSlot(sys.SelfProc(), nil)
	if !ok {
		fmt.Println("no slot")
		os.Exit(1)
	}
	w, err := m.NewWriter(slot, sys.SelfProc().PID, 2)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if v, ok := stepMode(mode); ok {
		stepVictim(m, w, &all[0], &all[1].before, v)
	}
	if mode == "short" {
		w.Short()
	}
	fmt.Println("ready")
	if mode == "flush" {
		for {
			flushTo(m, slot, func(*Block) error { return nil })
			m.Restart(w)
		}
	}
	o := &all[who]
	rng := rand.New(rand.NewPCG(uint64(who), 3))
	var buf []byte
	e := Event{ID: event.FirstUser, TID: uint32(who)}
	for n := uint64(0); ; n++ {
		size := stampSize + rng.IntN(40)
		if mode == "large" {
			size = stampSize + rng.IntN(m.MaxData-stampSize)
		}
		e.Addr = uint64(rng.IntN(5))
		buf = stamp(buf, uint32(who), n, size)
		o.before.Store(n + 1)
		if w.Record(int(n>>6), &e, buf) {
			o.recorded.Add(1)
		} else {
			o.refused.Add(1)
		}
		if n%256 == 0 {
			time.Sleep(20 * time.Microsecond) // so that the reader can keep up
		}
	}
}

type child struct {
	*exec.Cmd
	who int
}

func spawn(t *testing.T, dir, mode string, who int) child {
	t.Helper()
	return spawnOf(t, "", dir, mode, who)
}

// spawnOf is spawn of another program, if prog is not "".
func spawnOf(t *testing.T, prog, dir, mode string, who int) child {
	t.Helper()
	cmd := exec.Command(cmp.Or(prog, "/proc/self/exe"))
	cmd.Env = append(os.Environ(), killEnv+"="+mode, "STREAM_TEST_DIR="+dir, "STREAM_TEST_WHO="+strconv.Itoa(who), "GOMAXPROCS=2")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	s, err := bufio.NewReader(out).ReadString('\n')
	if s != "ready\n" {
		t.Fatalf("child says %q, %v", s, err)
	}
	return child{cmd, who}
}

func gone(p sys.Proc) bool { return !p.Alive() }

func killStream(t testing.TB, policy uint8, size int64) (string, *Mem, []oracle) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "stream-test-")
	tracetest.Need(t, err == nil, "/dev/shm")
	t.Cleanup(func() { os.RemoveAll(dir) })
	g, _ := Measure(size, 1024, 2)
	b, err := mapFile(filepath.Join(dir, "stream"), int(g.Size))
	if err != nil {
		t.Fatal(err)
	}
	clock := uint32(ClockMonotonic)
	if sys.TrustTicks() {
		clock = ClockTicks
	}
	if _, err := Format(b, &Config{Geometry: g, ID: 1, Attributes: attributes(1024, policy), Clock: clock, Creator: sys.SelfProc()}, false); err != nil {
		t.Fatal(err)
	}
	m, all, err := openShared(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, m, all
}

// TestAccountsAfterKilledWriters kills writers at random instants and compares the stream's accounts
// with those that the writers kept.
func TestAccountsAfterKilledWriters(t *testing.T) {
	tracetest.Need(t, !testing.Short(), "a run without -short")
	tracetest.OnlyWithoutRace(t) // it sees one process, and each writer is one
	for _, c := range []struct {
		mode   string
		policy uint8
		size   int64
		kills  int
	}{
		{"owned", Loop, 256 << 10, 80},
		{"short", Loop, 64 << 10, 30},
		{"large", Loop, 16 << 10, 60}, // claims chunks all the time
		{"owned", UntilFull, 64 << 10, 30},
		{"large", UntilFull, 16 << 10, 20},
	} {
		t.Run(fmt.Sprintf("%s/policy%d", c.mode, c.policy), func(t *testing.T) {
			testKill(t, c.mode, c.policy, c.size, c.kills)
		})
	}
}

func testKill(t *testing.T, mode string, policy uint8, size int64, kills int) {
	t.Helper()
	testKillOf(t, func(int) string { return "" }, mode, policy, size, kills, 4000)
}

// testKillOf kills writers that run the program of their number, each for some µs at most
// until the next kill.
func testKillOf(t *testing.T, prog func(who int) string, mode string, policy uint8, size int64, kills, pause int) {
	dir, m, all := killStream(t, policy, size)
	ctl := newWriter(t, m, 1)
	m.Start(ctl, Event{})
	starts := uint64(1)
	var living []child
	who := 0
	y := newTally(t, oracles)
	y.order = false // checked by number below, since killed writers make events late
	r := m.NewReader()
	take := func() {
		drainSome(r, y)
		if m.Restartable() {
			m.Restart(ctl)
			starts++
		}
	}
	rng := rand.New(rand.NewPCG(uint64(kills), uint64(policy)))
	for range kills {
		for len(living) < 4 {
			living = append(living, spawnOf(t, prog(who), dir, mode, who))
			who++
		}
		for end := time.Now().Add(time.Duration(rng.IntN(pause)) * time.Microsecond); time.Now().Before(end); {
			take()
		}
		i := rng.IntN(len(living))
		living[i].Process.Kill()
		living[i].Wait()
		living = append(living[:i], living[i+1:]...)
		if rng.IntN(3) > 0 {
			m.Recover(gone)
		}
	}
	for _, c := range living {
		c.Process.Kill()
		c.Wait()
	}
	m.Recover(gone)
	for range 4 {
		take()
	}
	readInto(r, y)
	if m.h.damage.Load() != 0 {
		t.Errorf("%d damaged", m.h.damage.Load())
	}
	var before, recorded, refused uint64
	for i := range who {
		b, rec, ref := all[i].before.Load(), all[i].recorded.Load(), all[i].refused.Load()
		if d := b - rec - ref; d > 1 {
			t.Errorf("the oracle of %d: %d, %d, %d", i, b, rec, ref)
		}
		if y.next[i] > b {
			t.Errorf("writer %d: event %d of %d", i, y.next[i]-1, b)
		}
		if policy != Loop && (y.got[i] < rec || y.got[i] > rec+1) {
			t.Errorf("writer %d: %d read, %d recorded", i, y.got[i], rec)
		}
		before, recorded, refused = before+b, recorded+rec, refused+ref
	}
	got, lost := y.total()+y.starts, m.Lost()
	if sum := got + lost; sum < recorded+refused+starts || sum > before+starts {
		t.Errorf("%d read + %d lost = %d, not from %d to %d", got, lost, sum, recorded+refused+starts, before+starts)
	}
	t.Logf("%d events, %d read, %d lost, %d late", before, got, lost, m.h.late.Load())
	if used, _ := m.Used(); used > m.OpenChunks {
		t.Errorf("%d chunks in use at the end", used)
	}
	if n := len(m.writers()); n != 1 {
		t.Errorf("%d writers left", n)
	}
	// The stream continues to work.
	if m.Restartable() {
		m.Restart(ctl)
	}
	if !ctl.Record(0, &Event{ID: event.FirstUser}, stamp(nil, oracles-1, 0, 20)) {
		t.Error("the stream takes no event any more")
	}
	readInto(r, y)
	if y.got[oracles-1] != 1 {
		t.Error("the stream reports no event any more")
	}
}

// drainSome reads a bounded number of events: the writers may be faster.
func drainSome(r *Reader, y *tally) {
	for range 2000 {
		if !r.Next(&y.rec) {
			return
		}
		y.add(&y.rec)
	}
}

// TestAccountsAfterKilledFlush kills a process that flushes.
func TestAccountsAfterKilledFlush(t *testing.T) {
	tracetest.Need(t, !testing.Short(), "a run without -short")
	dir, m, all := killStream(t, Flush, 64<<10)
	ctl := newWriter(t, m, 1)
	m.Start(ctl, Event{})
	w := spawn(t, dir, "owned", 0)
	tracetest.Wait(t, "an event", func() bool { return all[0].recorded.Load() > 0 })
	rng := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		f := spawn(t, dir, "flush", 1)
		time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
		f.Process.Kill()
		f.Wait()
		m.Recover(gone)
	}
	w.Process.Kill()
	w.Wait()
	m.Recover(gone)
	y := newTally(t, oracles)
	y.order = false
	if _, err := flushTo(m, ctl.Slot(), y.block); err != nil {
		t.Fatal(err)
	}
	for i := range m.Chunks {
		if s := word(m, i).state(); s != free && s != open {
			t.Errorf("chunk %d is left in state %d", i, s)
		}
	}
	if m.Restart(ctl); m.State()&Running == 0 {
		t.Error("the stream does not run")
	}
	if all[0].recorded.Load() == 0 {
		t.Error("nothing was recorded")
	}
	if m.h.damage.Load() != 0 {
		t.Error("damage")
	}
}

func word(m *Mem, i int) ctl { return ctl(m.at(i).ctl.Load()) }
