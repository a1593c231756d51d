package registry

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

func (n *tree) page() *Page {
	n.f.t.Helper()
	pg, err := n.f.d.Page(n.proc, true)
	if err != nil {
		n.f.t.Fatal(err)
	}
	n.f.t.Cleanup(func() { pg.Close() })
	return pg
}

// attach attaches a stream like a controller.
func (n *tree) attach(stream uint64, flags Flags) {
	n.f.t.Helper()
	pg := n.page()
	locked(n.f.t, n.f.d, func() {
		if err := pg.Attach(stream, flags); err != nil {
			n.f.t.Fatal(err)
		}
	})
}

// traced returns the streams and their flags, like "1:SI 2:S".
func (n *tree) traced() string {
	n.f.t.Helper()
	return show(n.page().Entries())
}

func show(list []Entry) string {
	var words []string
	for _, e := range list {
		s := fmt.Sprintf("%d:", e.Stream)
		for i, c := range "SIC" {
			if e.Flags&(1<<i) != 0 {
				s += string(c)
			}
		}
		words = append(words, s)
	}
	return strings.Join(words, " ")
}

func (n *tree) want(streams string) {
	n.f.t.Helper()
	if got := n.traced(); got != streams {
		n.f.t.Errorf("process is traced by %q, want %q", got, streams)
	}
}

// INH-01, INH-02, INH-03, INH-06, INH-11: what a child inherits.
func TestInheritByFork(t *testing.T) {
	f := newForest(t)
	q := f.root()
	q.attach(1, Self|Inherit)
	q.attach(2, Self)
	q.attach(3, Child|Inherit)
	q.attach(4, Child)
	q.attach(5, Inherit) // passes nothing on until it has Self or Child
	child := q.spawn()
	grandchild := child.spawn() // before its parent has a page
	grandchild.want("1:SI 3:SI")
	child.want("1:SI 3:SI 4:S")
	child.spawn().want("1:SI 3:SI")
	for _, n := range []*tree{child, grandchild} {
		if got, want := n.page().Family(), q.page().Family(); got != want {
			t.Errorf("family of a descendant is %016x, want %016x", got, want)
		}
		if *n.page().Word() == 0 {
			t.Error("the word of a traced process is 0")
		}
	}
}

func TestUntracedParentPassesNothingOn(t *testing.T) {
	f := newForest(t)
	q := f.root()
	q.attach(1, Self)
	child := q.spawn()
	child.want("")
	if child.page().Family() == q.page().Family() {
		t.Error("a process that inherits nothing is in its parent's family")
	}
	if *child.page().Word() != 0 {
		t.Error("the word of an untraced process is not 0")
	}
}

// INH-03: a stream that is attached to the parent later does not reach existing children, nor their
// children, however soon after the fork it is attached.
func TestLaterStreamsReachNoExistingChild(t *testing.T) {
	for _, where := range []string{"leader of a session", "member"} {
		t.Run(where, func(t *testing.T) {
			f := newForest(t)
			q := f.root()
			if where == "member" {
				q = q.spawn()
			}
			q.page()
			var before []*tree
			nextTick() // so that some children and streams share a tick
			for i := range uint64(4) {
				before = append(before, q.spawn())
				q.attach(1+i, Self|Inherit)
			}
			for i, want := range []string{"", "1:SI", "1:SI 2:SI", "1:SI 2:SI 3:SI"} {
				grandchild := before[i].spawn()
				grandchild.want(want)
				before[i].want(want)
				grandchild.spawn().want(want)
			}
			q.spawn().want("1:SI 2:SI 3:SI 4:SI")
		})
	}
}

// The same for a stream that gets Inherit only later, and one that had it before.
func TestLaterInheritReachesNoExistingChild(t *testing.T) {
	f := newForest(t)
	q := f.root()
	q.attach(1, Self)
	q.attach(2, Self|Inherit)
	child := q.spawn()
	q.attach(1, Inherit)
	q.attach(2, Child)
	child.want("2:SI")
	q.spawn().want("1:SI 2:SI")
	q.want("1:SI 2:SIC")
}

// INH-06: inheritance does not depend on the parent's survival.
func TestInheritFromDeadParent(t *testing.T) {
	f := newForest(t)
	q := f.root()
	q.attach(1, Self|Inherit)
	child := q.spawn()
	orphan := child.spawn()
	late := child.spawn()
	child.end()
	orphan.want("1:SI") // through the leader of its session
	q.attach(2, Self|Inherit)
	q.end()
	late.want("1:SI") // although the leader is dead, and without the late stream
	orphan.spawn().want("1:SI")
}

// INH-06 in a process group of its own, as a shell with job control makes for a command: the shell,
// leader of the session, is not traced, and everything between dies.
func TestGroupOutlivesLeader(t *testing.T) {
	f := newForest(t)
	shell := f.root()
	q := shell.fork("spawn-group")
	q.attach(1, Self|Inherit)
	nextTick()
	middle := q.spawn()
	orphan := middle.spawn()
	late := middle.spawn()
	middle.end()
	orphan.want("1:SI")
	q.attach(2, Self|Inherit)
	q.end()
	sweep(t, f.d, []uint64{1, 2}, nil)
	late.want("1:SI") // without the late stream
	late.spawn().want("1:SI")
	shell.spawn().want("")
	gone := q.proc
	for _, n := range f.trees[1:] {
		if n != q && n != middle {
			n.end()
		}
	}
	sweep(t, f.d, []uint64{1, 2}, nil)
	if f.d.has(pageName(gone)) {
		t.Error("the page of a dead leader of no group is not removed")
	}
}

// The commands of a pipeline share a group, but do not descend from its leader.
func TestPipelineIsNoFamily(t *testing.T) {
	f := newForest(t)
	shell := f.root()
	q := shell.fork("spawn-group")
	sibling := shell.fork("spawn-group " + fmt.Sprint(q.proc.PID))
	q.attach(1, Self|Inherit)
	nextTick()
	nephew := sibling.spawn()
	middle := q.spawn()
	orphan := middle.spawn()
	sibling.end()
	middle.end()
	nephew.want("")
	orphan.want("") // there is no telling it from the other
	q.spawn().want("1:SI")
}

// The leader of the session is nearer than the subreaper that adopts an orphan.
func TestLeaderBelowSubreaper(t *testing.T) {
	f := newForest(t)
	q := f.root()
	q.do("subreaper")
	q.attach(1, Self|Inherit)
	nextTick()
	leader := q.fork("spawn-session")
	leader.attach(2, Self|Inherit)
	p := leader.spawn()
	leader.end()
	waitFor(t, "adoption by the subreaper", func() bool {
		stat, err := sys.Stat(int(p.proc.PID))
		return err == nil && stat.PPID == int(q.proc.PID)
	})
	p.want("1:SI 2:SI")
}

// A subreaper that is a member of the session is nearer than its leader.
func TestSubreaperBelowLeader(t *testing.T) {
	f := newForest(t)
	leader := f.root()
	q := leader.spawn()
	q.do("subreaper")
	q.attach(1, Self|Inherit)
	leader.attach(2, Self|Inherit)
	child := q.spawn()
	p := child.spawn()
	child.end()
	p.want("1:SI")
}

// INH-07: a page belongs to the process, not to the program.
func TestPageSurvivesExec(t *testing.T) {
	f := newForest(t)
	q := f.root()
	q.attach(1, Self)
	family := q.page().Family()
	q.page().AddUserNames(3)
	q.send("exec")
	again := f.accept()
	if again.proc != q.proc {
		t.Fatalf("after exec the process is %v, was %v", again.proc, q.proc)
	}
	again.do("page")
	again.want("1:S")
	if again.page().Family() != family {
		t.Error("exec changed the family")
	}
}

// INH-14: a process with a reused pid gets an empty page of its own.
func TestReusedPIDGetsEmptyPage(t *testing.T) {
	d := testDir(t)
	self := sys.SelfProc()
	before := sys.Proc{PID: self.PID, Start: self.Start - 1}
	fakePage(t, d, before, 7, Self|Inherit)
	pg, err := d.Page(self, true)
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Close()
	if got := show(pg.Entries()); got != "" {
		t.Errorf("inherited %q from an earlier process of the same pid", got)
	}
	if _, err := d.Page(sys.Proc{PID: self.PID, Start: self.Start + 1}, true); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("page for a process that does not exist: %v, want ESRCH", err)
	}
}

// A page with the same pid and start time from before a reboot, on a disk, is ignored.
func TestPageOfEarlierBootIsReplaced(t *testing.T) {
	d := testDir(t)
	self := sys.SelfProc()
	fakePage(t, d, self, 7, Self|Inherit)
	path := d.Path() + "/" + pageName(self)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[offBoot] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	pg, err := d.Page(self, true)
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Close()
	if got := show(pg.Entries()); got != "" {
		t.Errorf("inherited %q from before the reboot", got)
	}
}

// fakePage makes a page for a process that need not exist.
func fakePage(t testing.TB, d *Dir, p sys.Proc, stream uint64, flags Flags) {
	t.Helper()
	f, temp, err := d.createTemp(randomID(), pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := sys.Map(f, pageSize, true)
	if err != nil {
		t.Fatal(err)
	}
	pg := &Page{d: d, proc: p, mem: mem}
	putHeader(mem, p, int(p.PID))
	pg.u64(offFamily).Store(randomID())
	pg.put(0, Entry{stream, flags, 1})
	pg.changed()
	pg.Close()
	if err := sys.RenameNoReplace(d.f, temp, pageName(p)); err != nil {
		t.Fatal(err)
	}
}
