package main

import "strconv"

// sources measures what the kernel offers beside ptrace(2) to see processes and system calls. The
// programs that read these sources only count events; docs/sources has what they can record.
func (b *bench) sources() *group {
	n := strconv.Itoa(b.pick(500, 100))
	reads := "count=" + strconv.Itoa(b.pick(100e3, 20e3))
	sh := []string{"sh", "-c", "for i in $(seq " + n + "); do /bin/true; done"}
	dd := []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=1", reads, "status=none"}
	run := func(events string) []string {
		return []string{b.tool("ptrace-run"), "--dump=never", "-e", events, "--"}
	}
	watch := func(source string) []string { return b.target("watch", source) }
	strace := []string{"strace", "-f", "--seccomp-bpf", "-e", "trace=process", "-o", "/dev/null"}
	g := &group{rounds: b.pick(5, 3)}
	for _, work := range []struct {
		name, key string
		program   []string
		list      []watched
	}{
		{n + " processes of a shell, seen by ", "sh", sh, []watched{
			{"ptrace(2), ptrace-run -e proc", run("proc")},
			{"ptrace(2), strace -e trace=process", strace},
			{"perf_event_open(2), records of tasks", watch("perf")},
			{"perf_event_open(2), trace points", watch("tracepoints")},
			{"the process connector", watch("connector")},
			{"seccomp_unotify(2), execve", watch("notify-exec")},
		}},
		{"dd bs=1 " + reads + ", seen by ", "dd", dd, []watched{
			{"ptrace(2), ptrace-run -e syscall", run("syscall")},
			{"ptrace(2), ptrace-run -e syscall.read", run("syscall.read")},
			{"perf_event_open(2), trace points of every call", watch("calls")},
			{"seccomp_unotify(2), read", watch("notify-read")},
		}},
	} {
		untraced := "sources " + work.key
		g.steps = append(g.steps, b.timed(untraced, work.program))
		for _, w := range work.list {
			it := &item{name: work.name + w.name, unit: seconds, peer: "untraced", theirsKey: untraced}
			it.oursKey = it.name
			g.items = append(g.items, it)
			g.steps = append(g.steps, b.timed(it.oursKey, append(w.by, work.program...)))
		}
	}
	return g
}

// watched is a source and the command that reads it while it runs a program.
type watched struct {
	name string
	by   []string
}

// timed measures how long a command runs.
func (b *bench) timed(key string, argv []string) func(series) error {
	return func(s series) error {
		r, err := command("", argv...)
		if err == nil {
			s.put(key, r.wall)
		}
		return err
	}
}
