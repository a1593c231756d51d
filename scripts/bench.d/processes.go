package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The cost of tracing programs without trace points, beside strace(1) and beside an
// untraced run. The wall clock counts: the tracer works while the program waits.

// calls traces a program that only makes cheap system calls.
func (b *bench) calls() *group {
	count := "count=" + strconv.Itoa(b.pick(100e3, 20e3))
	dd := []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=1", count, "status=none"}
	return b.seeing(dd, b.pick(5, 3), []seen{
		{"every system call of dd bs=1 " + count, "syscall", []string{"strace", "-f", "-o", "/dev/null"}, 0.5, 1},
		{"the same, read only", "syscall.read", []string{"strace", "-f", "--seccomp-bpf", "-e", "trace=read", "-o", "/dev/null"}, 0.5, 1},
		{"the same, openat only", "syscall.openat", nil, 1.3, 1.3},
	}, &item{name: "the same, all in a log", peer: "strace -f -ttt -T -o FILE"})
}

// longCalls traces a program that makes so many calls that its start does not count.
func (b *bench) longCalls() *group {
	dd := []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000000", "status=none"}
	return b.seeing(dd, b.pick(7, 5), []seen{{"openat only of dd bs=1 count=1000000", "syscall.openat", nil, 1.15, 1.15}}, nil)
}

// children traces a shell that starts one process after the other.
func (b *bench) children() *group {
	n := strconv.Itoa(b.pick(500, 100))
	sh := []string{"sh", "-c", "for i in $(seq " + n + "); do /bin/true; done"}
	return b.seeing(sh, b.pick(5, 3), []seen{
		{"events of " + n + " processes of a shell", "proc", []string{"strace", "-f", "--seccomp-bpf", "-e", "trace=process", "-o", "/dev/null"}, 0.9, 0.9},
		{"the same", "proc", nil, 1.25, 1.25},
	}, nil)
}

// searchFiles traces a search, which opens many directories.
func (b *bench) searchFiles() *group {
	dir := "/usr"
	if b.quick {
		dir = "/usr/include"
	}
	return b.seeing([]string{"find", dir, "-type", "f"}, b.pick(5, 3), filesSeen("files of find "+dir+" -type f", 2.5, 0.7), nil)
}

// buildFiles traces a build in C, of files with 260 lines each.
func (b *bench) buildFiles() *group {
	dir := b.file("project")
	n := b.pick(30, 8)
	g := b.seeing([]string{"make", "-s", "-B", "-C", dir}, b.pick(5, 3), filesSeen(fmt.Sprintf("files of make of %d files in C", n), 1.25, 0.9), nil)
	g.setup = func() error { return writeProject(dir, n) }
	return g
}

// writeProject writes a Makefile and C files.
func writeProject(dir string, n int) error {
	const step = `static int step%[1]d(const char *s, size_t n, int *sum)
{
	for (size_t i = 0; i < n; i++) {
		switch (s[i] %% (%[1]d + 3)) {
		case 0: *sum += s[i] * %[1]d; break;
		case 1: *sum ^= (int)strlen(s + i); break;
		case 2: if (s[i] == '\n') printf("%%d %%s\n", *sum, s); break;
		default: *sum -= abs(s[i] - %[1]d);
		}
	}
	return *sum > %[1]d ? 0 : -1;
}
`
	var steps, calls strings.Builder
	for i := range 20 {
		fmt.Fprintf(&steps, step, i)
		fmt.Fprintf(&calls, "\tbad += step%d(s, strlen(s), &sum);\n", i)
	}
	text := map[string]string{
		"Makefile": "objects = $(patsubst %.c,%.o,$(wildcard *.c))\nprogram: $(objects)\n\t$(CC) -o $@ $(objects)\n%.o: %.c common.h\n\t$(CC) -O2 -c -o $@ $<\n",
		"common.h": "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n",
		"main.c":   "#include \"common.h\"\nint main(void) { return 0; }\n",
	}
	for i := range n {
		text[fmt.Sprintf("part%d.c", i)] = fmt.Sprintf("#include \"common.h\"\n%sint part%d(const char *s)\n{\n\tint sum = 0, bad = 0;\n%s\treturn bad;\n}\n", &steps, i, &calls)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range text {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// filesSeen are the measurements of -e files beside an untraced run and strace(1).
func filesSeen(name string, untraced, strace float64) []seen {
	return []seen{
		{name, "files", nil, untraced, untraced},
		{"the same", "files", []string{"strace", "-f", "--seccomp-bpf", "-e", "trace=%file", "-o", "/dev/null"}, strace, strace},
	}
}

// stacks traces a program with the call stack of each call.
func (b *bench) stacks() *group {
	count := "count=" + strconv.Itoa(b.pick(20e3, 5e3))
	dd := []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=1", count, "status=none"}
	g := &group{rounds: b.pick(5, 3)}
	ours := []string{b.tool("ptrace-run"), "--dump=never", "-e", "syscall.read"}
	strace := []string{"strace", "-f", "-k", "--seccomp-bpf", "-e", "trace=read", "-o", "/dev/null"}
	for _, side := range []struct {
		key  string
		argv []string
	}{
		{"stacks", append(slices.Clone(ours), "--stack", "--")},
		{"without --stack", append(slices.Clone(ours), "--")},
		{strings.Join(strace, " "), strace},
	} {
		argv := append(side.argv, dd...)
		g.steps = append(g.steps, func(s series) error {
			r, err := command("", argv...)
			if err == nil {
				s.put(side.key, r.wall)
			}
			return err
		})
		if side.key != "stacks" {
			g.items = append(g.items, &item{name: "reads of dd bs=1 " + count + " with their call stacks", unit: seconds, peer: side.key, oursKey: "stacks", theirsKey: side.key})
		}
	}
	return g
}

// seen is a measurement of ptrace-run -e events, its peer or none, and the bars for the
// whole machine and for one processor.
type seen struct {
	name, events string
	peer         []string
	free, pinned float64
}

// seeing times a program under ptrace-run and under the peers, unpinned and on one processor.
// log, if not nil, is the item for all system calls in a log.
func (b *bench) seeing(program []string, rounds int, list []seen, log *item) *group {
	g := &group{rounds: rounds}
	done := map[string]bool{}
	step := func(key string, argv []string) {
		if done[key] {
			return
		}
		done[key] = true
		g.steps = append(g.steps, func(s series) error {
			r, err := command("", argv...)
			if err == nil {
				s.put(key, r.wall)
			}
			return err
		})
	}
	free := func(argv ...string) []string { return argv }
	for _, where := range []struct {
		name string
		on   func(...string) []string
		bar  func(seen) float64
	}{
		{"", free, func(s seen) float64 { return s.free }},
		{", one processor", b.pinned, func(s seen) float64 { return s.pinned }},
	} {
		for _, s := range list {
			peer, bar := "untraced", b.whole(most(where.bar(s)))
			if s.peer != nil {
				peer, bar = strings.Join(s.peer, " "), most(where.bar(s))
			}
			it := &item{name: s.name + where.name, unit: seconds, peer: peer, bar: bar,
				oursKey: s.events + where.name, theirsKey: peer + where.name}
			g.items = append(g.items, it)
			ours := []string{b.tool("ptrace-run"), "--dump=never", "-e", s.events, "--"}
			step(it.oursKey, where.on(append(ours, program...)...))
			step(it.theirsKey, where.on(append(append([]string{}, s.peer...), program...)...))
		}
	}
	if log != nil {
		log.unit, log.oursKey, log.theirsKey = seconds, "log", "their log"
		g.items = append(g.items, log)
		step(log.oursKey, append([]string{b.tool("ptrace-run"), "-e", "syscall", "-o", b.file("calls"), "--"}, program...))
		step(log.theirsKey, append([]string{"strace", "-f", "-ttt", "-T", "-o", b.file("strace")}, program...))
	}
	return g
}
