package analysis

import (
	"testing"
)

// build writes a parallel build: make runs gcc twice, gcc runs cc1.
func build(w *written) {
	w.exec(0, 10, "/usr/bin/make", "-j2")
	w.fork(1, 10, 11)
	w.exec(1, 11, "/usr/bin/gcc", "-O2", "-c", "-o", "a.o", "a.c")
	w.fork(2, 10, 12)
	w.exec(2, 12, "/usr/bin/gcc", "-O2", "-c", "-o", "b.o", "b.c")
	w.fork(3, 11, 13)
	w.exec(3, 13, "/lib/cc1", "-quiet", "-imultiarch", "x86_64-linux-gnu", "a.c", "-quiet", "-dumpbase", "a.c", "-o", "/tmp/x.s")
	w.fork(4, 12, 14)
	w.exec(4, 14, "/lib/cc1", "-quiet", "-imultiarch", "x86_64-linux-gnu", "b.c", "-quiet", "-dumpbase", "b.c", "-o", "/tmp/y.s")
	w.exit(20, 13, 0, 15, 3<<20)
	w.exit(22, 11, 0, 16, 3<<20)
	w.exit(100, 14, 1, 90, 5<<20)
	w.exit(103, 12, 1, 92, 5<<20)
	w.exit(110, 10, 2, 111, 5<<20)
}

func TestCommands(t *testing.T) {
	w := newLog(10, BySelf)
	build(w)
	w.a.Finish()
	list, failed := w.a.Commands()
	if got := list[0].Label(); got != "cc1 b.c" {
		t.Errorf("slowest is %q", got)
	}
	for _, want := range []struct {
		label                   string
		wall, self, cpu, memory int64
		status                  int
	}{
		{"cc1 b.c", 96, 96, 90, 5 << 20, 1}, {"cc1 a.c", 17, 17, 15, 3 << 20, 0},
		{"gcc b.c", 101, 5, 2, 0, 1}, {"gcc a.c", 21, 4, 1, 0, 0},
		{"make -j2", 110, 8, 3, 0, 2}, // without a child from 0 to 1 and from 103 on
	} {
		c := command(t, list, want.label)
		if c.Wall != want.wall*ms || c.Self != want.self*ms || c.CPU != want.cpu*ms || c.Memory != want.memory || c.Status != want.status {
			t.Errorf("%s: wall %d, self %d, cpu %d, memory %d, status %d; want %v", want.label, c.Wall/ms, c.Self/ms, c.CPU/ms, c.Memory, c.Status, want)
		}
	}
	// The cause of the failure is the command without a failed child.
	if len(failed) != 1 || failed[0].Label() != "cc1 b.c" || w.a.CommandTotals().Failed != 3 {
		t.Errorf("%d causes, %d failures", len(failed), w.a.CommandTotals().Failed)
	}
	runs := w.a.Runs()
	if len(runs) != 1 || runs[0].Label() != "make -j2" || runs[0].Status != 2 || runs[0].Wall != 110*ms || runs[0].MaxRSS != 5<<20 {
		t.Errorf("run: %+v", runs)
	}
	if g := w.a.Programs()[0]; g.Name != "cc1" || g.Commands != 2 || g.Failed != 1 || g.Self != 113*ms || g.CPU != 105*ms {
		t.Errorf("program: %+v", g)
	}
}

// Of many commands, those that come first in the order are kept.
func TestCommandsKept(t *testing.T) {
	for by, want := range map[Order]string{BySelf: "cc1 -quiet", ByWall: "make -j2", ByCPU: "cc1 -quiet", ByMemory: "cc1 -quiet", ByStart: "make -j2"} {
		w := newLog(1, by)
		build(w)
		w.a.Finish()
		list, _ := w.a.Commands()
		if got := list[0].Program(); len(list) != 1 || got != want[:len(got)] {
			t.Errorf("order %d: %d commands, %q", by, len(list), list[0].Label())
		}
		if n := w.a.CommandTotals().Commands; n != 5 {
			t.Errorf("order %d: %d in all", by, n)
		}
	}
}

// A log may begin and end in the middle of processes, and lack some of their events.
func TestCommandsUnfinished(t *testing.T) {
	w := newLog(10, BySelf)
	w.exit(0, 99, 0, 0, 0)         // began before the log
	w.fork(1, 50, 51)              // by a process that began before the log
	w.exec(2, 51, "/bin/a", "one") // whose end is not in the log: the id is used again
	w.fork(40, 50, 51)
	w.exec(41, 51, "/bin/b")
	w.exec(61, 51, "/bin/c") // in place of b
	w.fork(62, 51, 52)       // executes nothing
	w.exit(70, 52, 3, 0, 0)
	w.exec(75, 60, "/bin/hang", "x")
	w.print(175, "last")
	w.a.Finish()
	list, failed := w.a.Commands()
	for _, want := range []struct {
		label string
		wall  int64
		state State
	}{{"a one", 38, Lost}, {"b", 20, Replaced}, {"c", 114, Running}, {"c (fork)", 8, Ended}, {"hang x", 100, Running}} {
		if c := command(t, list, want.label); c.Wall != want.wall*ms || c.State != want.state {
			t.Errorf("%s: wall %d, state %d", want.label, c.Wall/ms, c.State)
		}
	}
	// How the first command ended is not known: none is to blame, and no failure was tolerated.
	if c := command(t, list, "c (fork)"); len(failed) != 0 || !c.Failed() || w.a.Tolerated(c) {
		t.Errorf("%d to blame", len(failed))
	}
	if n := w.a.CommandTotals().Unknown; n != 2 { // 99, and 50 at the end
		t.Errorf("%d of unknown start", n)
	}
}

// A clock that jumps back yields no negative durations, and is reported.
func TestClockJumps(t *testing.T) {
	w := newLog(10, BySelf)
	w.exec(1000, 1, "/bin/a")
	w.user(1001, "x.begin", 1, "")
	w.user(10, "x.end", 1, "")
	w.print(9, "one")
	w.print(5, "two")
	w.exit(8, 1, 0, 0, 0)
	w.a.Finish()
	list, _ := w.a.Commands()
	if c := list[0]; c.Wall != 0 || c.Self != 0 {
		t.Errorf("wall %d, self %d", c.Wall, c.Self)
	}
	if r := span(t, w.a, "x"); r.Times.Total != 0 || r.Self != 0 {
		t.Errorf("span: %d", r.Times.Total)
	}
	if w.a.Backward != 3 {
		t.Errorf("%d backward", w.a.Backward)
	}
}

// What tells commands apart is shown, and little else.
func TestLabels(t *testing.T) {
	type argv []string
	for _, c := range []struct {
		argv []argv
		want []string
	}{
		{[]argv{{"make", "-j2", "all"}}, []string{"make -j2 all"}},
		{[]argv{{"sleep", "0.2"}, {"sleep", "0.4"}, {"sleep", "0.4"}}, []string{"sleep 0.2", "sleep 0.4", "sleep 0.4"}},
		{[]argv{{"true"}, {"true"}}, []string{"true", "true"}},
		{[]argv{{"gcc", "-Wall", "-c", "-o", "main.o", "main.c"}, {"gcc", "-Wall", "-c", "-o", "x.o", "x.c"}, {"gcc", "-o", "prog", "a.o", "b.o", "c.o", "d.o", "e.o"}},
			[]string{"gcc main.c", "gcc x.c", "gcc -o prog"}},
		{[]argv{{"gcc", "-c", "src/main.c", "-I", "include", "-o", "main.o"}, {"gcc", "-c", "src/x.c", "-I", "include", "-o", "x.o"}}, []string{"gcc src/main.c", "gcc src/x.c"}},
		{[]argv{{"as", "--64", "-o", "main.o", "/tmp/cc1.s"}, {"as", "--64", "-o", "x.o", "/tmp/cc2.s"}}, []string{"as main.o", "as x.o"}},
		{[]argv{{"sh", "-c", "cd a && make"}, {"sh", "-c", "cd b\nmake"}}, []string{"sh cd a && make", "sh cd b ..."}},
		{[]argv{{"slow", "/x/slow", "/usr/lib/go/pkg/tool/compile", "-p", "m/slow", "-goversion", "go1.26.8"}, {"slow", "/usr/lib/go/pkg/tool/compile", "-p", "m/fast", "-goversion", "go1.26.8"}},
			[]string{"slow compile m/slow", "slow compile m/fast"}},
		{[]argv{{"compile", "-o", "/tmp/go-build1/b001/_pkg_.a", "-trimpath", "/tmp/go-build1=>", "-p", "encoding/json", "-pack", "./a.go", "./b.go", "./c.go", "./d.go"},
			{"compile", "-o", "/tmp/go-build1/b002/_pkg_.a", "-trimpath", "/tmp/go-build1=>", "-p", "fmt", "-pack", "./a.go"}}, []string{"compile encoding/json", "compile fmt"}},
		{[]argv{{"bash", "deploy.sh", "prod"}, {"bash", "test.sh", "prod"}}, []string{"bash deploy.sh", "bash test.sh"}},
		{[]argv{{"bash", "--noprofile", "--norc", "-eo", "pipefail", "/home/u/build"}, {"bash", "-e", "-o", "pipefail", "/tmp/x"}}, []string{"bash build", "bash /tmp/x"}},
		{[]argv{{"x", "-a"}, {"x", "-b", ""}}, []string{"x -a", "x -b"}},
		{[]argv{{"cc1", "-quiet", "-imultiarch", "x86_64-linux-gnu", "number.c", "-quiet", "-dumpbase", "number.c", "-dumpbase-ext", ".c"}}, []string{"cc1 number.c"}},
		{[]argv{{"link", "-o", "/tmp/go-build1/b001/x.test", "-X", "testing.testBinary=1", "/root/.cache/go-build/87/87812346840c7b2c67e0d470ac5bf2936de00cf720a39b51ca648f2b4c701acc-d"}},
			[]string{"link x.test"}},
		{[]argv{{"load", "x", "/root/.cache/go-build/87/87812346840c7b2c67e0d470ac5bf2936de00cf720a39b51ca648f2b4c701acc-d"}}, []string{"load x"}},
		{[]argv{{""}, {}}, []string{"", ""}},
	} {
		var list []*Command
		for i, a := range c.argv {
			w := newLog(1, BySelf)
			path := ""
			if len(a) > 0 {
				path = "/usr/bin/" + a[0]
				w.exec(int64(i), 1, path, a[1:]...)
			} else {
				w.exec(int64(i), 1, path)
			}
			w.a.Finish()
			one, _ := w.a.Commands()
			list = append(list, one...)
		}
		label(list)
		for i, want := range c.want {
			if got := list[i].Label(); got != want && got != "bin" && want != "" {
				t.Errorf("%q: %q, want %q", c.argv[i], got, want)
			}
		}
	}
}
