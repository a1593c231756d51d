package registry

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

func openNames(t testing.TB, d *Dir) *Names {
	t.Helper()
	n, err := d.Names(77)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func wantID(t testing.TB, n *Names, name string, system bool, want event.ID, wantAdded bool) {
	t.Helper()
	id, added, err := n.Open(name, system, nil)
	if err != nil || id != want || added != wantAdded {
		t.Errorf("Open(%.20q, %v) = %d, %v, %v, want %d, %v", name, system, id, added, err, want, wantAdded)
	}
}

func TestNames(t *testing.T) {
	d := testDir(t)
	a, b := openNames(t, d), openNames(t, d)
	long := strings.Repeat("x", event.NameMax)
	wantID(t, a, "posix_trace_start", false, event.Start, false)
	wantID(t, a, "posix_trace_unnamed_userevent", false, event.Unnamed, false)
	wantID(t, a, "proc.exit", true, event.ProcExit, false)
	wantID(t, a, "one", false, event.FirstUser, true)
	wantID(t, b, "one", false, event.FirstUser, false)
	wantID(t, b, "", false, event.FirstUser+1, true)
	wantID(t, b, "one", true, event.FirstDynamic, true) // the classes do not share names
	wantID(t, a, long, false, event.FirstUser+2, true)
	wantID(t, a, "one", true, event.FirstDynamic, false)
	wantID(t, b, "\x00\xff", false, event.FirstUser+3, true)
	if _, _, err := a.Open(long+"x", false, nil); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("256 bytes: %v, want ENAMETOOLONG", err)
	}
	if a.Name(event.FirstUser+3) != "\x00\xff" || a.Name(event.Stop) != "posix_trace_stop" || a.Name(9999) != "" {
		t.Error("Name")
	}
	if _, ok := a.Lookup(event.FirstUser + 1); !ok {
		t.Error("the empty name is not found")
	}
	if _, ok := a.Lookup(event.FirstUser + 4); ok {
		t.Error("an unused id has a name")
	}
	all := a.All()
	var ids []event.ID
	for _, typ := range all[len(event.Predefined):] {
		ids = append(ids, typ.ID)
	}
	if want := []event.ID{33, 34, event.FirstDynamic, 35, 36}; !slices.Equal(ids, want) {
		t.Errorf("All lists %v, want %v", ids, want)
	}
	if !slices.Equal(all, openNames(t, d).All()) {
		t.Error("a new reader sees another list")
	}
	if _, err := d.Names(0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Names(0) = %v", err)
	}
}

func TestNamesMayAdd(t *testing.T) {
	d := testDir(t)
	n := openNames(t, d)
	asked := 0
	no := &Quota{Left: func() bool { asked++; return false }}
	if id, added, err := n.Open("a", false, no); id != event.Unnamed || added || err != nil || asked != 1 {
		t.Errorf("refused: %d %v %v, asked %d times", id, added, err, asked)
	}
	if _, _, err := n.Open("a", true, no); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("refused system name: %v, want ENOSPC", err)
	}
	wantID(t, n, "a", false, event.FirstUser, true)
	asked = 0
	if id, _, _ := n.Open("a", false, no); id != event.FirstUser || asked != 0 {
		t.Errorf("known name: %d, asked %d times", id, asked)
	}
}

// The hook runs before another process can see the name.
func TestHookRunsBeforeNameIsVisible(t *testing.T) {
	d := testDir(t)
	n, other := openNames(t, d), openNames(t, d)
	var calls []string
	n.BeforePublish(func(id event.ID, name string) {
		if _, ok := other.Lookup(id); ok {
			t.Error("the name is visible before the hook runs")
		}
		calls = append(calls, fmt.Sprint(id, " ", name))
	})
	wantID(t, n, "a", false, 33, true)
	wantID(t, n, "a", false, 33, false)
	wantID(t, other, "b", false, 34, true)
	wantID(t, n, "b", false, 34, false)
	n.BeforePublish(nil)
	wantID(t, n, "c", false, 35, true)
	if !slices.Equal(calls, []string{"33 a"}) {
		t.Errorf("calls: %q", calls)
	}
}

func TestNamesFull(t *testing.T) {
	d := testDir(t)
	// The file as it is after all those calls.
	var b []byte
	for id := event.FirstUser; id < event.FirstDynamic; id++ {
		b = appendRecord(b, id, false, fmt.Sprint("u", id))
	}
	for id := event.FirstDynamic; id < event.Max-1; id++ {
		b = appendRecord(b, id, true, fmt.Sprint("s", id))
	}
	if err := os.WriteFile(filepath.Join(d.Path(), namesName(77)), b, 0o600); err != nil {
		t.Fatal(err)
	}
	n := openNames(t, d)
	wantID(t, n, "new", false, event.Unnamed, false)
	wantID(t, n, "u3583", false, 3583, false)
	wantID(t, n, "last", true, event.Max-1, true)
	if _, _, err := n.Open("more", true, nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full: %v, want ENOSPC", err)
	}
}

// A writer died at any byte of its record: whole records stay, the rest is overwritten.
func TestNamesDropTornRecord(t *testing.T) {
	d := testDir(t)
	whole := appendRecord(appendRecord(nil, 33, false, "first"), 34, false, "second")
	torn := appendRecord(nil, 35, false, "torn record of some length")
	path := filepath.Join(d.Path(), namesName(77))
	for cut := range len(torn) {
		for _, junk := range [][]byte{torn[:cut], bytes.Repeat([]byte{0xff}, cut), make([]byte, cut)} {
			if err := os.WriteFile(path, slices.Concat(whole, junk), 0o600); err != nil {
				t.Fatal(err)
			}
			n, err := d.Names(77)
			if err != nil {
				t.Fatal(err)
			}
			wantID(t, n, "second", false, 34, false)
			wantID(t, n, "x", false, 35, true)
			wantID(t, n, "y", true, event.FirstDynamic, true)
			n.Close()
			want := appendRecord(appendRecord(slices.Clip(whole), 35, false, "x"), event.FirstDynamic, true, "y")
			if got := must(os.ReadFile(path)); !bytes.Equal(got, want) {
				t.Fatalf("cut at %d: file is %q, want %q", cut, got, want)
			}
		}
	}
}

// A file that was removed or cut short gets back the names that were given out.
func TestNamesRestored(t *testing.T) {
	d := testDir(t)
	n := openNames(t, d)
	wantID(t, n, "a", false, 33, true)
	wantID(t, n, "b", false, 34, true)
	path := filepath.Join(d.Path(), namesName(77))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantID(t, n, "c", false, 35, true)
	wantID(t, openNames(t, d), "b", false, 34, false)
	if err := os.Truncate(path, 30); err != nil {
		t.Fatal(err)
	}
	wantID(t, n, "d", false, 36, true)
	wantID(t, openNames(t, d), "c", false, 35, false)
	if err := os.WriteFile(path, appendRecord(nil, 33, false, "different"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.Open("e", false, nil); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("other names in the file: %v, want ESTALE", err)
	}
}

// Processes that register names at once, some of them killed, agree on every number.
func TestConcurrentRegistrationAgrees(t *testing.T) {
	d := testDir(t)
	n := openNames(t, d)
	var wg sync.WaitGroup
	outs := make([]string, 3)
	for i := range outs {
		wg.Go(func() {
			out, err := as("register").CombinedOutput()
			if err != nil {
				t.Errorf("%s %v", out, err)
			}
			outs[i] = string(out)
		})
	}
	for range 3 {
		cmd := as("register", "REGISTRY_FOREVER=1")
		started(t, cmd)
		cmd.Process.Kill()
		cmd.Wait()
	}
	for range 4 {
		wg.Go(func() {
			for i := range 60 {
				if _, _, err := n.Open(fmt.Sprintf("name %d", i), false, nil); err != nil {
					t.Error(err)
				}
				n.Name(event.FirstUser + event.ID(i))
				n.All()
			}
		})
	}
	wg.Wait()
	ids := map[string]event.ID{}
	used := map[event.ID]bool{}
	for _, typ := range n.All() {
		if used[typ.ID] {
			t.Errorf("id %d given twice", typ.ID)
		}
		used[typ.ID] = true
		ids[typ.Name] = typ.ID
	}
	lines := 0
	for _, out := range outs {
		for line := range strings.Lines(out) {
			if line == "ready\n" {
				continue
			}
			var id event.ID
			var name string
			if _, err := fmt.Sscanf(line, "%d %q\n", &id, &name); err != nil || ids[name] != id {
				t.Errorf("%q: %v, here it is %d", line, err, ids[name])
			}
			lines++
		}
	}
	if lines != 3*60 {
		t.Errorf("%d lines, want 180", lines)
	}
}

func roleRegister() error {
	d, err := Open()
	if err != nil {
		return err
	}
	n, err := d.Names(77)
	if err != nil {
		return err
	}
	forever := os.Getenv("REGISTRY_FOREVER") != ""
	fmt.Println("ready")
	for i := 0; i < 60 || forever; i++ {
		name := fmt.Sprintf("name %d", i)
		if forever {
			name = fmt.Sprintf("%d of %d", i, os.Getpid())
		}
		id, _, err := n.Open(name, false, nil)
		if err != nil {
			return err
		}
		if !forever {
			fmt.Printf("%d %q\n", id, name)
		}
	}
	return nil
}

// No contents of the file cause a panic, or a table that could not be written again.
func FuzzNamesFile(f *testing.F) {
	good := appendRecord(appendRecord(nil, 33, false, "a"), event.FirstDynamic, true, strings.Repeat("n", 255))
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(appendRecord(good, 34, false, "a"))
	f.Add(appendRecord(good, 35, false, "posix_trace_start"))
	f.Add(appendRecord(nil, 33, true, ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		tab := newTable()
		if err := tab.readFrom(bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		var again []byte
		for _, typ := range tab.order {
			if !typ.ID.Valid() || typ.ID < event.FirstUser || len(typ.Name) > event.NameMax {
				t.Fatalf("took %+v", typ)
			}
			again = appendRecord(again, typ.ID, typ.ID.System(), typ.Name)
		}
		if int64(len(again)) != tab.end || !bytes.Equal(again, b[:tab.end]) {
			t.Errorf("%q reads as %q", b[:tab.end], again)
		}
	})
}

// The table of checksums is the standard library's.
func TestChecksumTable(t *testing.T) {
	if got, want := *castagnoli(), *crc32.MakeTable(crc32.Castagnoli); got != want {
		t.Error("the table is not that of CRC-32C")
	}
}

// A process that is stopped while it holds the lock of the names delays others no longer than
// lockWait, and does not keep them from reading.
func TestStoppedLockHolderBlocksNoReader(t *testing.T) {
	defer func(old time.Duration) { lockWait = old }(lockWait)
	lockWait = 20 * time.Millisecond
	d := testDir(t)
	n := openNames(t, d)
	id, _, err := n.Open("before", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(d.path, namesName(n.Family())), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := sys.Flock(f, true, true); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.Open("new", false, nil); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("Open: %v", err)
	}
	if err := n.While(func([]Type) error { t.Error("called"); return nil }); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("While: %v", err)
	}
	other, err := d.Names(n.Family())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if name, ok := other.Lookup(id); !ok || name != "before" {
		t.Errorf("Lookup: %q, %v", name, ok)
	}
	if have, _, err := other.Open("before", false, nil); have != id || err != nil {
		t.Errorf("Open of a name that is there: %d, %v, want %d", have, err, id)
	}
	if err := sys.Funlock(f); err != nil {
		t.Fatal(err)
	}
	if _, added, err := n.Open("new", false, nil); !added || err != nil {
		t.Errorf("Open afterwards: %v, %v", added, err)
	}
}

// Close does not take the file from a goroutine that reads it: its descriptor may be another file's.
func TestNamesCloseWhileRead(t *testing.T) {
	d := testDir(t)
	for range 100 {
		n := openNames(t, d)
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for range 20 {
					n.All()
				}
			})
		}
		n.Close()
		readers.Wait()
	}
}

// The lock of a removed file keeps no process from making another file and adding a name to it.
func TestRemovedNamesAreNotWaitedFor(t *testing.T) {
	defer func(old time.Duration) { lockWait = old }(lockWait)
	lockWait = 0
	d := testDir(t)
	n := openNames(t, d)
	wantID(t, n, "before", false, event.FirstUser, true)
	f := must(d.openOwn(namesName(n.Family()), os.O_RDWR))
	defer f.Close()
	if err := sys.Flock(f, true, true); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.path, namesName(n.Family()))); err != nil {
		t.Fatal(err)
	}
	wantID(t, n, "new", false, event.FirstUser+1, true)
	other := must(d.Names(n.Family()))
	defer other.Close()
	if list := other.known(); len(list) != len(event.Predefined)+2 {
		t.Errorf("the new file has %v", list[len(event.Predefined):])
	}
}
