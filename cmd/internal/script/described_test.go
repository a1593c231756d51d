package script_test

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func init() { helpers["described-log"] = describedLog }

// describedLog LOG writes a log of the run that standard input describes. What a summary or a
// comparison says about times is tested with it: the times of a run on a busy machine may be any.
// A line is a command, a span or a line of output, inside of what is above it and one blank less
// indented, with its begin and end in milliseconds:
//
//	0 600 make -s -j2
//	 2 210 sh cc main.c = 1
//	  5 205 sleep 0.2
//	  204 204 > a line
//	 220 400 [build]
//
// What follows = is the status, 0 if there is none. A process that executes nothing is (fork). The access
// of a command to a file is "@KIND[:MODE,...][!][=NUMBER] PATH[ is CANONICAL][ -> TO]", with "!" if it was
// denied. The number is that of bytes, or a count.
func describedLog() {
	if err := writeDescribed(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "described-log:", err)
		os.Exit(1)
	}
}

// described is an event, at a time in milliseconds.
type described struct {
	at   int
	info posixtrace.EventInfo
	data []byte
}

// description is a part of a run.
type description struct {
	from, to, status int
	text             string
	inside           []*description
}

func writeDescribed(path string) error {
	run, err := parseDescription()
	if err != nil {
		return err
	}
	w := describedWriter{next: 100}
	if err := w.add(run, 0); err != nil {
		return err
	}
	slices.SortStableFunc(w.events, func(a, b described) int { return cmp.Compare(a.at, b.at) })
	return w.write(path)
}

func parseDescription() (run *description, err error) {
	run = &description{}
	around := []*description{run}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		text := strings.TrimLeft(in.Text(), " ")
		depth := len(in.Text()) - len(text) + 1
		d := &description{}
		if n, err := fmt.Sscan(text, &d.from, &d.to); n != 2 || depth > len(around) {
			return nil, fmt.Errorf("%q: %v", in.Text(), err)
		}
		d.text = strings.SplitN(text, " ", 3)[2]
		if before, after, ok := strings.Cut(d.text, " = "); ok {
			d.text = before
			if _, err := fmt.Sscan(after, &d.status); err != nil {
				return nil, err
			}
		}
		p := around[depth-1]
		p.inside = append(p.inside, d)
		around = append(around[:depth], d)
	}
	if len(run.inside) != 1 {
		return nil, errors.New("not one command")
	}
	return run.inside[0], in.Err()
}

type describedWriter struct {
	events []described
	next   int // process id
}

func (w *describedWriter) event(at, pid int, id posixtrace.EventID, data []byte) {
	w.events = append(w.events, described{at, posixtrace.EventInfo{ID: id, PID: pid, TID: pid}, data})
}

// add adds the events of a part inside of a process, 0 for none.
func (w *describedWriter) add(d *description, pid int) error {
	line, isLine := strings.CutPrefix(d.text, "> ")
	name, isSpan := strings.CutPrefix(d.text, "[")
	access, isAccess := strings.CutPrefix(d.text, "@")
	switch {
	case isAccess:
		data, err := describedAccess(access)
		w.event(d.from, pid, posixtrace.EventFileAccess, data.Append(nil))
		return err
	case isLine:
		w.event(d.from, pid, posixtrace.EventOutputStdout, (&posixtrace.OutputData{Line: []byte(line)}).Append(nil))
		return nil
	case isSpan:
		name, data, _ := strings.Cut(name, "]")
		begin, err := posixtrace.OpenEventID(name + ".begin")
		if err != nil {
			return err
		}
		end, err := posixtrace.OpenEventID(name + ".end")
		if err != nil {
			return err
		}
		w.event(d.from, pid, begin, []byte(strings.TrimPrefix(data, " ")))
		for _, in := range d.inside {
			if err := w.add(in, pid); err != nil {
				return err
			}
		}
		w.event(d.to, pid, end, fmt.Append(nil, d.status))
		return nil
	}
	child := w.next
	w.next++
	if pid != 0 {
		w.event(d.from, pid, posixtrace.EventProcFork, (&posixtrace.ForkData{Child: child}).Append(nil))
	}
	if d.text != "(fork)" {
		argv := strings.Fields(d.text)
		w.event(d.from, child, posixtrace.EventProcExec, (&posixtrace.ExecData{Path: "/usr/bin/" + argv[0], Argv: argv}).Append(nil))
	}
	for _, in := range d.inside {
		if err := w.add(in, child); err != nil {
			return err
		}
	}
	w.event(d.to, child, posixtrace.EventProcExit, (&posixtrace.ExitData{Status: d.status, User: time.Millisecond, MaxRSS: 1 << 21}).Append(nil))
	return nil
}

// describedAccess returns an access to a file.
func describedAccess(text string) (*posixtrace.FileData, error) {
	what, paths, _ := strings.Cut(text, " ")
	what, number, counted := strings.Cut(what, "=")
	what, failed := strings.CutSuffix(what, "!") // permission denied
	what, modes, _ := strings.Cut(what, ":")
	d := &posixtrace.FileData{Bytes: -1}
	for k := posixtrace.FileOpen; k <= posixtrace.FileMissing; k++ {
		if k.String() == what {
			d.Kind = k
		}
	}
	for i := range 16 {
		if m := posixtrace.FileMode(1 << i); modes != "" && len(m.Words()) > 0 && slices.Contains(strings.Split(modes, ","), m.Words()[0]) {
			d.Mode |= m
		}
	}
	if counted {
		if _, err := fmt.Sscan(number, &d.Bytes); err != nil {
			return d, err
		}
	}
	if d.Kind == posixtrace.FileMissing {
		d.Count, d.Bytes, d.Err = d.Bytes, -1, syscall.ENOENT
	}
	if failed {
		d.Err = syscall.EACCES
	}
	d.Path, d.To, _ = strings.Cut(paths, " -> ")
	d.Path, d.Canonical, _ = strings.Cut(d.Path, " is ")
	if d.Kind == 0 || d.Path == "" {
		return d, fmt.Errorf("%q: no access", text)
	}
	return d, nil
}

// write records the events, and copies the log with the times that they are to have.
func (w *describedWriter) write(path string) (err error) {
	recorded, err := os.CreateTemp("", "described-")
	if err != nil {
		return err
	}
	defer os.Remove(recorded.Name())
	defer recorded.Close()
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend}, recorded)
	if err != nil {
		return err
	}
	defer s.Shutdown()
	rec, err := s.Recorder()
	if err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	for _, e := range w.events {
		if !rec.Record(e.info, e.data) {
			return errors.New("an event is lost")
		}
	}
	if err := errors.Join(rec.Close(), s.Shutdown()); err != nil {
		return err
	}
	if _, err := recorded.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r, err := posixtrace.NewReader(recorded)
	if err != nil {
		return err
	}
	defer r.Close()
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	last := 0
	return r.WriteLog(out, func(rec *posixtrace.Record) bool {
		switch rec.ID {
		case posixtrace.EventStart, posixtrace.EventStop:
		case posixtrace.EventFlushStart, posixtrace.EventFlushStop:
			return false
		default:
			last, w.events = w.events[0].at, w.events[1:]
		}
		rec.UnixNano = start.Add(time.Duration(last) * time.Millisecond).UnixNano()
		return true
	})
}
