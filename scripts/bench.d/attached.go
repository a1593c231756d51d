package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// attached measures how many requests a running server answers while its calls are recorded.
func (b *bench) attached() *group {
	g := &group{rounds: b.pick(7, 3)}
	free := func(argv ...string) []string { return argv }
	strace := func(calls string) []string {
		return []string{"strace", "-f", "-q", "-e", "trace=" + calls, "-o", "/dev/null", "-p"}
	}
	ours := func(events string) []string {
		return []string{b.tool("ptrace-run"), "--dump=never", "-e", events, "-p"}
	}
	for _, where := range []struct {
		name        string
		on          func(...string) []string
		every, some float64
	}{
		{"", free, 2, 1},
		{", one processor", b.pinned, 1.1, 1},
	} {
		for _, what := range []struct {
			name, events, calls string
			bar                 float64
		}{
			{"requests to a server, attached to every call", "syscall", "all", where.every},
			{"the same, openat only", "syscall.openat", "openat", where.some},
		} {
			it := &item{name: what.name + where.name, unit: thousands, peer: "strace -f -e trace=" + what.calls + " -p PID", bar: least(what.bar)}
			it.oursKey, it.theirsKey = it.name, it.name+" strace"
			g.items = append(g.items, it)
			g.steps = append(g.steps,
				func(s series) error { return b.serving(s, it.oursKey, where.on, ours(what.events)) },
				func(s series) error { return b.serving(s, it.theirsKey, where.on, strace(what.calls)) })
		}
		it := &item{name: "the same, every call, beside the server untraced" + where.name, unit: thousands, peer: "untraced"}
		it.oursKey, it.theirsKey = "requests to a server, attached to every call"+where.name, "untraced"+where.name
		g.items = append(g.items, it)
		g.steps = append(g.steps, func(s series) error { return b.serving(s, it.theirsKey, where.on, nil) })
	}
	return g
}

// serving starts a server, attaches a tracer to it, and stores the rate of answers under key. The last
// argument of tracer is added: the server's process.
func (b *bench) serving(s series, key string, on func(...string) []string, tracer []string) (err error) {
	socket := b.file("socket")
	argv := on(b.target("serve", socket)...)
	server := exec.Command(argv[0], argv[1:]...)
	input, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer server.Wait()
	defer input.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		return fmt.Errorf("the server says %q, %v", line, err)
	}
	if tracer != nil {
		detach, err := attachTo(server.Process.Pid, on(tracer...))
		if err != nil {
			return err
		}
		defer detach()
	}
	v, err := numbers(1, on(b.target("ask", socket, fmt.Sprint(b.pick(1500, 500), "ms"))...)...)
	if err == nil {
		s.put(key, v[0])
	}
	return err
}

// attachTo starts a tracer, and returns when it traces all threads of a process.
func attachTo(pid int, argv []string) (detach func(), err error) {
	cmd := exec.Command(argv[0], append(argv[1:], strconv.Itoa(pid))...)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	detach = func() {
		cmd.Process.Signal(unix.SIGINT)
		<-ended
	}
	for end := time.Now().Add(10 * time.Second); !tracedWhole(pid); time.Sleep(time.Millisecond) {
		select {
		case err := <-ended:
			return nil, fmt.Errorf("%s ended: %v", argv[0], err)
		default:
		}
		if time.Now().After(end) {
			detach()
			return nil, fmt.Errorf("%s does not attach", argv[0])
		}
	}
	return detach, nil
}

func tracedWhole(pid int) bool {
	list, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, name := range list {
		status, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(status), "TracerPid:\t0\n") {
			return false
		}
	}
	return err == nil && len(list) > 0
}
