package registry

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

func ownPage(t testing.TB, d *Dir) *Page {
	t.Helper()
	pg, err := d.Page(sys.SelfProc(), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pg.Close() })
	return pg
}

func TestAttachAndDetach(t *testing.T) {
	d := testDir(t)
	if _, err := d.Page(sys.SelfProc(), false); !errors.Is(err, syscall.ENOENT) {
		t.Fatalf("Page without create = %v, want ENOENT", err)
	}
	pg := ownPage(t, d)
	same := ownPage(t, d)
	if pg.Proc() != sys.SelfProc() || pg.Family() == 0 || pg.Family() != same.Family() {
		t.Errorf("Proc %v, Family %x and %x", pg.Proc(), pg.Family(), same.Family())
	}
	seen := map[uint32]bool{}
	step := func(what string, traced bool, want string) {
		t.Helper()
		w := atomic.LoadUint32(same.Word())
		if (w != 0) != traced || traced && seen[w] {
			t.Errorf("%s: word is %d (seen before: %v), traced is %v", what, w, seen[w], traced)
		}
		seen[w] = true
		if got := show(same.Entries()); got != want {
			t.Errorf("%s: entries %q, want %q", what, got, want)
		}
	}
	attach := func(stream uint64, flags Flags, want error) {
		t.Helper()
		if err := pg.Attach(stream, flags); !errors.Is(err, want) {
			t.Errorf("Attach(%d, %d) = %v, want %v", stream, flags, err, want)
		}
	}
	unlock, err := d.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	step("new", false, "")
	attach(1, Child|Inherit, nil)
	step("children only", false, "1:IC")
	attach(2, Self, nil)
	step("self", true, "1:IC 2:S")
	attach(3, Self|Inherit, nil)
	step("second", true, "1:IC 2:S 3:SI")
	before := atomic.LoadUint32(pg.Word())
	attach(3, Self, nil) // has that already
	pg.Detach(99)
	pg.Detach(0)
	if atomic.LoadUint32(pg.Word()) != before {
		t.Error("the word changed without a change")
	}
	pg.Detach(2)
	step("detached", true, "1:IC 3:SI")
	attach(4, Self, nil)
	step("slot used again", true, "1:IC 4:S 3:SI")
	attach(1, Self, nil)
	step("added", true, "1:SIC 4:S 3:SI")
	attach(0, Self, syscall.EINVAL)
	attach(5, 0, syscall.EINVAL)
	attach(5, 8, syscall.EINVAL)
	for i := range uint64(MaxStreams - 3) {
		attach(100+i, Self, nil)
	}
	attach(200, Self, syscall.EAGAIN)
	attach(100, Self|Inherit, nil) // there is no lack of room for that
	if n := len(same.Entries()); n != MaxStreams {
		t.Errorf("%d entries, want %d", n, MaxStreams)
	}
	if err := d.DetachAll(100); err != nil || len(same.Entries()) != MaxStreams-1 {
		t.Errorf("DetachAll: %v, %d entries left", err, len(same.Entries()))
	}
	for _, e := range same.Entries() {
		pg.Detach(e.Stream)
	}
	if w := *same.Word(); w != 0 {
		t.Errorf("word is %d with nothing attached", w)
	}
}

// The word changes with every change, also when the count of changes wraps.
func TestWordChangesWhenCountWraps(t *testing.T) {
	d := testDir(t)
	pg := ownPage(t, d)
	unlock, err := d.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	pg.u32(offGeneration).Store(math.MaxUint32 - 3)
	pg.u32(offSeq).Store(math.MaxUint32 - 3)
	before := uint32(0)
	for i := range uint64(6) {
		if err := pg.Attach(i+1, Self); err != nil {
			t.Fatal(err)
		}
		word := atomic.LoadUint32(pg.Word())
		if word == 0 || word == before {
			t.Errorf("stream %d is attached, and the word goes from %d to %d", i+1, before, word)
		}
		if n := len(pg.Entries()); n != int(i)+1 {
			t.Errorf("%d entries instead of %d", n, i+1)
		}
		before = word
	}
}

func TestFamilyIsFixedByFirstName(t *testing.T) {
	pg := ownPage(t, testDir(t))
	if err := pg.SetFamily(0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("SetFamily(0) = %v", err)
	}
	if err := pg.SetFamily(42); err != nil || pg.Family() != 42 {
		t.Errorf("SetFamily: %v, family %d", err, pg.Family())
	}
	if a, b := pg.AddUserNames(2), pg.AddUserNames(3); a != 2 || b != 5 {
		t.Errorf("AddUserNames = %d, %d, want 2, 5", a, b)
	}
	if err := pg.SetFamily(43); !errors.Is(err, syscall.EBUSY) || pg.Family() != 42 {
		t.Errorf("SetFamily with names = %v, family %d", err, pg.Family())
	}
	if err := pg.SetFamily(42); err != nil {
		t.Errorf("SetFamily to the same = %v", err)
	}
	pg.Opened()
	if n := pg.AddUserNames(0); n != 5 {
		t.Errorf("%d names, want those from before the first program", n)
	}
	pg.Renew() // it is held
	if n := pg.AddUserNames(0); n != 5 {
		t.Errorf("%d names in a page that its program holds, want 5", n)
	}
	pg.Opened()
	if n := pg.AddUserNames(0); n != 0 {
		t.Errorf("%d names of a new program", n)
	}
}

// Two runtimes of one program, such as Go and C, count their names together. The next program does not
// count them.
func TestRuntimesOfOneProgramCountTogether(t *testing.T) {
	d := testDir(t)
	first := ownPage(t, d)
	first.Opened()
	first.AddUserNames(3)
	second, err := d.Page(sys.SelfProc(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	second.Opened()
	if n := second.AddUserNames(0); n != 3 {
		t.Errorf("%d names, another runtime has registered 3", n)
	}
	second.u32(offOpened).Store(sys.ProgramID() + 1)
	second.Opened()
	if n := second.AddUserNames(0); n != 0 {
		t.Errorf("%d names of another program", n)
	}
}

// Many processes make the same page at once, half of them their own.
func TestConcurrentCreation(t *testing.T) {
	f := newForest(t)
	q := f.root()
	q.attach(1, Self|Inherit)
	child := q.spawn()
	var wg sync.WaitGroup
	families := make([]uint64, 8)
	for i := range families {
		wg.Go(func() {
			d, err := Open()
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			pg, err := d.Page(child.proc, true)
			if err != nil {
				t.Error(err)
				return
			}
			families[i] = pg.Family()
			if got := show(pg.Entries()); got != "1:SI" {
				t.Errorf("entries %q", got)
			}
			pg.Close()
		})
		if i%4 == 0 {
			wg.Go(func() {
				out, err := as("page", fmt.Sprintf("REGISTRY_PID=%d", child.proc.PID)).CombinedOutput()
				if err != nil || !strings.Contains(string(out), "1:SI") {
					t.Errorf("%s %v", out, err)
				}
			})
		}
	}
	wg.Wait()
	for _, family := range families {
		if family != q.page().Family() {
			t.Errorf("families %x, want all %x", families, q.page().Family())
			break
		}
	}
	if temps, _ := filepath.Glob(f.d.Path() + "/t-*"); len(temps) != 0 {
		t.Errorf("temporary files left: %v", temps)
	}
}

func rolePage() error {
	d, err := Open()
	if err != nil {
		return err
	}
	var pid int
	fmt.Sscan(os.Getenv("REGISTRY_PID"), &pid)
	p, err := sys.Lookup(pid)
	if err != nil {
		return err
	}
	pg, err := d.Page(p, true)
	if err != nil {
		return err
	}
	fmt.Println(show(pg.Entries()))
	return nil
}

// A writer may be killed at any instant. Readers, which take no lock, see only streams that were
// attached, and the next writer succeeds.
func TestKilledWriterLeavesPageConsistent(t *testing.T) {
	d := testDir(t)
	pg := ownPage(t, d)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, e := range pg.Entries() {
				if e.Stream != 1 && e.Stream != 2 || e.Flags != Flags(e.Stream) || e.Attached == 0 {
					t.Errorf("torn entry %+v", e)
					return
				}
			}
		}
	})
	for range 12 {
		cmd := as("flicker", fmt.Sprintf("REGISTRY_PID=%d", os.Getpid()))
		started(t, cmd)
		cmd.Process.Kill()
		cmd.Wait()
	}
	pg.u32(offSeq).Store(pg.u32(offSeq).Load() | 1) // in case no kill did that
	pg.Entries()                                    // ends all the same
	close(stop)
	readers.Wait()
	locked(t, d, func() {
		pg.Detach(1)
		pg.Detach(2)
		if err := pg.Attach(3, Self); err != nil {
			t.Error(err)
		}
	})
	if got := show(pg.Entries()); got != "3:S" || *pg.Word() == 0 || pg.u32(offSeq).Load()&1 != 0 {
		t.Errorf("entries %q, word %d, seq %d", got, *pg.Word(), pg.u32(offSeq).Load())
	}
}

// started starts a command and waits for its first line.
func started(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
}

func roleFlicker() error {
	d, err := Open()
	if err != nil {
		return err
	}
	var pid int
	fmt.Sscan(os.Getenv("REGISTRY_PID"), &pid)
	p, err := sys.Lookup(pid)
	if err != nil {
		return err
	}
	pg, err := d.Page(p, false)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		unlock, err := d.Lock()
		if err != nil {
			return err
		}
		for stream := uint64(1); stream <= 2; stream++ {
			pg.Attach(stream, Flags(stream))
		}
		pg.Detach(uint64(1 + i&1))
		unlock()
		if i == 10 {
			fmt.Println("ready")
		}
	}
}

func TestDamagedPage(t *testing.T) {
	d := testDir(t)
	self := sys.SelfProc()
	path := filepath.Join(d.Path(), pageName(self))
	for _, b := range [][]byte{nil, []byte("short"), make([]byte, pageSize), make([]byte, pageSize+1)} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Page(self, true); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("page of %d zeros: %v, want EINVAL", len(b), err)
		}
	}
}

func FuzzPage(f *testing.F) {
	p := sys.SelfProc()
	good := make([]byte, pageSize)
	putHeader(good, p, 1)
	f.Add(good[offFamily:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		words := make([]uint64, pageSize/8) // aligned
		mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), pageSize)
		putHeader(mem, p, 1)
		copy(mem[offFamily:], b)
		if v := checkHeader(mem, p); v != pageSound {
			t.Fatalf("verdict %d", v)
		}
		pg := &Page{proc: p, mem: mem}
		for _, e := range pg.Entries() {
			if e.Stream == 0 || e.Flags == 0 || e.Flags&^allFlags != 0 {
				t.Errorf("unchecked entry %+v", e)
			}
		}
		if pg.Family() == 0 {
			t.Error("family 0")
		}
		pg.Detach(0)
		free := len(pg.Entries()) < MaxStreams
		if err := pg.Attach(1<<40, Self); err != nil && free {
			// Entries without flags count as taken; that is no free slot.
			if slot, _ := pg.find(0); slot >= 0 {
				t.Error(err)
			}
		}
		pg.Detach(1 << 40)
	})
}
