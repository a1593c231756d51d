package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

func (d *Dir) has(name string) bool {
	_, err := os.Lstat(filepath.Join(d.Path(), name))
	return err == nil
}

func sweep(t *testing.T, d *Dir, kept []uint64, families map[uint64]bool) {
	t.Helper()
	locked(t, d, func() {
		err := d.Sweep(func(id uint64) bool { return slices.Contains(kept, id) }, families)
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestSweepPages(t *testing.T) {
	f := newForest(t)
	leader := f.root()
	leader.attach(1, Self|Inherit)
	member := leader.spawn()
	member.page()
	other := leader.spawn()
	gone := func(n *tree) bool { return !f.d.has(pageName(n.proc)) }

	member.end()
	sweep(t, f.d, []uint64{1}, nil)
	if !gone(member) || gone(leader) {
		t.Error("want the page of a dead process without session removed, that of a live one kept")
	}
	leader.end()
	sweep(t, f.d, []uint64{1}, nil)
	if gone(leader) {
		t.Error("the page of a dead leader is removed while its session lasts")
	}
	other.want("1:SI")
	sweep(t, f.d, nil, nil)
	if !gone(leader) || gone(other) {
		t.Error("the page of a dead leader without kept streams is not removed")
	}
	leader = f.root()
	leader.attach(1, Self|Inherit)
	leader.end()
	sweep(t, f.d, []uint64{1}, nil)
	if !gone(leader) {
		t.Error("the page of a dead leader of no session is not removed")
	}
}

func TestSweepFiles(t *testing.T) {
	d := testDir(t)
	dead := sys.Proc{PID: sys.SelfProc().PID, Start: 1}
	old := time.Now().Add(-2 * tempLife)
	put := func(name string, when time.Time) string {
		path := filepath.Join(d.Path(), name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		return name
	}
	pg := ownPage(t, d)
	stay := []string{
		put(ownTempName(1), old),
		put(tempName(dead, 4711, 2), time.Now()), // its maker may live in another namespace
		put("t-4000000-1-0000000000000001", time.Now()),
		put(streamName(3), old),
		put(namesName(pg.Family()), old),
		put(namesName(4), old),
		put("something else", old),
		put(lockFile, old),
	}
	goes := []string{
		put(tempName(dead, sys.PIDNamespace(), 2), time.Now()),
		put(tempName(dead, sys.PIDNamespace(), 5), old),
		put(tempName(dead, 4711, 5), old),
		put("t-4000000-1-0000000000000002", old),
		put("t-junk", old),
		put(namesName(6), old),
		put(pageName(dead), old),
	}
	sweep(t, d, []uint64{3}, map[uint64]bool{4: true})
	for _, name := range stay {
		if name != pageName(dead) && !d.has(name) {
			t.Errorf("%s was removed", name)
		}
	}
	for _, name := range goes {
		if d.has(name) {
			t.Errorf("%s was left", name)
		}
	}
}

// Names that are open keep their numbers through a sweep.
func TestSweepNamesInUse(t *testing.T) {
	d := testDir(t)
	n := openNames(t, d)
	wantID(t, n, "a", false, 33, true)
	sweep(t, d, nil, nil)
	if d.has(namesName(77)) {
		t.Error("the names of an unused family are not removed")
	}
	wantID(t, n, "b", false, 34, true)
	wantID(t, openNames(t, d), "a", false, 33, false)
}

// A thousand short-lived processes of a traced script do not leave a thousand pages.
func TestTidyRemovesPagesOfDeadProcesses(t *testing.T) {
	d := testDir(t)
	stream, id, _, err := d.NewStreamFile(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := d.Publish(id); err != nil {
		t.Fatal(err)
	}
	self := sys.SelfProc()
	for i := range uint64(300) {
		fakePage(t, d, sys.Proc{PID: self.PID, Start: 1 + i}, id, Self|Inherit)
		d.tidy()
	}
	pages := 0
	for _, name := range must(d.names()) {
		if strings.HasPrefix(name, "p-") {
			pages++
		}
	}
	// Without a sweep there would be 300 pages. No sweep in 300 steps has a chance of 1 in 110;
	// go on until there is one.
	for i := 0; pages > 0 && i < 10_000; i++ {
		d.tidy()
		pages = len(must(d.Pages()))
	}
	if pages != 0 || !d.has(streamName(id)) {
		t.Errorf("%d pages left, stream there: %v", pages, d.has(streamName(id)))
	}
}
