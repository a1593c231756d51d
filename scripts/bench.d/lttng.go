package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lttng is a session daemon of LTTng, without its kernel modules.
type lttng struct {
	cmd  *exec.Cmd // nil if a daemon was running already
	dir  string
	runs int
}

// startLTTng finds the user's session daemon or starts one.
func startLTTng(dir string) (*lttng, error) {
	if _, err := exec.LookPath("lttng-sessiond"); err != nil {
		return nil, errors.New("there is no lttng-sessiond")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	l := &lttng{dir: dir}
	if l.control("list") == nil {
		return l, nil // the daemon of the home directory, or root's
	}
	os.Setenv("LTTNG_HOME", dir)
	log, err := os.Create(filepath.Join(dir, "sessiond.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	l.cmd = exec.Command("lttng-sessiond", "--no-kernel")
	l.cmd.Stdout, l.cmd.Stderr = log, log
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // if this process is killed
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := l.control("list")
		if err == nil {
			return l, nil
		}
		if time.Now().After(deadline) {
			l.close()
			return nil, fmt.Errorf("lttng-sessiond does not answer: %w", err)
		}
	}
}

func (l *lttng) close() {
	if l.cmd != nil {
		l.cmd.Process.Signal(os.Interrupt)
		l.cmd.Wait()
	}
}

func (l *lttng) control(args ...string) error {
	_, err := command("", append([]string{"lttng", "--no-sessiond"}, args...)...)
	return err
}

// A session is one recording.
type session struct {
	l         *lttng
	name, out string
	consumers map[int]float64 // processor time of the consumer daemons at the start
}

// start starts recording the events of bench.d/c/tp.h, with the same members as ours. to are
// the options of "lttng create", channel those of the channel.
func (l *lttng) start(to []string, channel ...string) (*session, error) {
	l.runs++
	s := &session{l: l, name: fmt.Sprintf("posixtrace-bench-%d-%d", os.Getpid(), l.runs), out: filepath.Join(l.dir, fmt.Sprint("out", l.runs))}
	if err := l.control(append([]string{"create", s.name, "--output=" + s.out}, to...)...); err != nil {
		return nil, err
	}
	for _, c := range [][]string{
		append([]string{"enable-channel", "-u", "-s", s.name, "c"}, channel...),
		{"add-context", "-u", "-s", s.name, "-c", "c", "-t", "vpid", "-t", "vtid", "-t", "ip"},
		{"enable-event", "-u", "-s", s.name, "-c", "c", "bench:*"},
		{"start", s.name},
	} {
		if err := l.control(c...); err != nil {
			l.control("destroy", s.name)
			return nil, err
		}
	}
	s.consumers = consumers()
	return s, nil
}

// stop waits until all events are written and returns the processor time of the consumer
// daemons.
func (s *session) stop() (cpu float64, err error) {
	if err := s.l.control("stop", s.name); err != nil {
		return 0, err
	}
	for pid, t := range consumers() {
		cpu += t - s.consumers[pid]
	}
	return cpu, nil
}

func (s *session) destroy() error { return s.l.control("destroy", s.name) }

// consumers returns the daemons that write the traces of programs, with the processor
// time of each so far.
func consumers() map[int]float64 {
	m := map[int]float64{}
	stats, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, f := range stats {
		b, _ := os.ReadFile(f)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if strings.HasPrefix(string(b), "lttng-consumer") {
			if t, err := cpuTime(pid); err == nil {
				m[pid] = t
			}
		}
	}
	return m
}

// size returns the total size of the files in a directory.
func size(dir string) (n float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += float64(info.Size())
		}
		return err
	})
	return n, err
}
