package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// kinds are events of which a summary or an export needs each. A kind writes a few at a time.
var kinds = map[string]func(w *logWriter, i int){
	"spans": func(w *logWriter, _ int) {
		w.event(w.ids["compile.begin"], 1, nil)
		w.event(w.ids["parse.begin"], 1, nil)
		w.event(w.ids["parse.end"], 1, nil)
		w.event(w.ids["compile.end"], 1, nil)
	},
	"keyed": func(w *logWriter, i int) {
		w.keyed(w.ids["compile.begin"], uint64(2*i+1), 0)
		w.keyed(w.ids["parse.begin"], uint64(2*i+2), uint64(2*i+1))
		w.keyed(w.ids["parse.end"], uint64(2*i+2), 0)
		w.keyed(w.ids["compile.end"], uint64(2*i+1), 0)
	},
	"steps": func(w *logWriter, i int) {
		w.event(w.ids["step.begin"], 1, fmt.Appendf(nil, "deploy.sh:%d make target-%d", i%200, i%200))
		w.event(w.ids["step.end"], 1, []byte("0"))
	},
	"processes": func(w *logWriter, i int) {
		// Twenty at a time.
		pid := 100 + i%20
		w.event(posixtrace.EventProcExit, pid, (&posixtrace.ExitData{User: time.Millisecond, MaxRSS: 1 << 25}).Append(nil))
		w.event(posixtrace.EventProcFork, 1, (&posixtrace.ForkData{Child: pid}).Append(nil))
		w.event(posixtrace.EventProcExec, pid, (&posixtrace.ExecData{Path: "/usr/libexec/gcc/x86_64-linux-gnu/14/cc1", Argv: []string{
			"/usr/libexec/gcc/x86_64-linux-gnu/14/cc1", "-quiet", "-imultiarch", "x86_64-linux-gnu", "file" + strconv.Itoa(i%1000) + ".c", "-quiet",
			"-dumpbase", "file.c", "-mtune=generic", "-march=x86-64", "-O2", "-o", "/tmp/ccAbCdEf.s"}}).Append(nil))
	},
	"points": func(w *logWriter, i int) {
		w.data = strconv.AppendInt(append(w.data[:0], "request "...), int64(i), 10)
		w.event(w.ids["point"], 1, w.data)
	},
	"lines": func(w *logWriter, i int) {
		w.data = strconv.AppendInt(append(w.data[:0], "\x00[ 42%] Building C object src/CMakeFiles/app.dir/file"...), int64(i%5000), 10)
		w.event(posixtrace.EventOutputStdout, 1, append(w.data, ".c.o"...))
	},
	"calls": recordCalls,
}

// recordCalls records what the programs of a script do: a process, forty system calls as ptrace-run -e
// syscall records them, and its end.
func recordCalls(w *logWriter, i int) {
	pid := 100 + i%1000
	w.event(posixtrace.EventProcFork, 1, (&posixtrace.ForkData{Child: pid}).Append(nil))
	w.event(posixtrace.EventProcExec, pid, (&posixtrace.ExecData{Path: "/usr/bin/cc", Argv: []string{"cc", "-O2", "-c", "file" + strconv.Itoa(i%1000) + ".c"}}).Append(nil))
	for range 10 {
		at := 0x7f0000000000 + uint64(i%50)*4096
		w.call("syscall.openat", pid, at, 3, "AT_FDCWD", `/usr/include/x86_64-linux-gnu/bits/types.h`, "O_RDONLY|O_NOCTTY")
		w.call("syscall.newfstatat", pid, at+64, 0, "3", "", "{mode=S_IFREG|0644 size=26448}", "AT_EMPTY_PATH")
		w.call("syscall.read", pid, at+128, 832, "3", "#ifndef _BITS_TYPES_H\n# define _BITS_TYPES_H 1\n\n#include <fea", "832")
		w.call("syscall.close", pid, at+192, 0, "3")
	}
	w.event(posixtrace.EventProcExit, pid, (&posixtrace.ExitData{User: time.Millisecond, MaxRSS: 1 << 25}).Append(nil))
}

// systemTypes are those that kinds record beside the types that each stream has.
var systemTypes = []string{"syscall.openat", "syscall.newfstatat", "syscall.read", "syscall.close"}

// recorded writes a log of events of a kind.
func recorded(args []string) error {
	if len(args) != 3 || kinds[args[1]] == nil {
		return errors.New("wrong arguments")
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	log, err := os.Create(args[0])
	if err != nil {
		return err
	}
	defer log.Close()
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamSize: 16 << 20, StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend}, log)
	if err != nil {
		return err
	}
	defer s.Shutdown()
	w := &logWriter{left: n, ids: map[string]posixtrace.EventID{}}
	for _, name := range []string{"compile.begin", "compile.end", "parse.begin", "parse.end", "step.begin", "step.end", "point"} {
		if w.ids[name], err = posixtrace.OpenEventID(name); err != nil {
			return err
		}
	}
	ids, err := s.OpenSystemEventIDs(systemTypes...)
	if err != nil {
		return err
	}
	for i, name := range systemTypes {
		w.ids[name] = ids[i]
	}
	if err := s.Start(); err != nil {
		return err
	}
	if w.to, err = s.Recorder(); err != nil {
		return err
	}
	for i := 0; w.left > 0; i++ {
		kinds[args[1]](w, i)
	}
	if err := w.to.Close(); err != nil {
		return err
	}
	if w.refused > 0 {
		return fmt.Errorf("%d events were not recorded", w.refused)
	}
	return s.Shutdown()
}

type logWriter struct {
	to            *posixtrace.Recorder
	ids           map[string]posixtrace.EventID
	left, refused int
	data          []byte // reused
}

func (w *logWriter) event(id posixtrace.EventID, pid int, data []byte) {
	w.record(posixtrace.EventInfo{ID: id, PID: pid, TID: pid}, data)
}

func (w *logWriter) call(name string, pid int, at uint64, result int64, args ...string) {
	d := posixtrace.SyscallData{Result: result, Duration: 18334, Returned: true, Args: make([]posixtrace.SyscallArg, len(args))}
	for i, a := range args {
		d.Args[i] = posixtrace.SyscallArg{Value: []byte(a), String: a == "" || a[0] == '/' || a[0] == '#'}
	}
	w.data = d.Append(w.data[:0])
	w.record(posixtrace.EventInfo{ID: w.ids[name], PID: pid, TID: pid, Address: at}, w.data)
}

func (w *logWriter) keyed(id posixtrace.EventID, key, parent uint64) {
	w.record(posixtrace.EventInfo{ID: id, PID: 1, TID: 1, Address: 0x401000, Span: key, Parent: parent}, nil)
}

func (w *logWriter) record(ev posixtrace.EventInfo, data []byte) {
	w.left--
	ev.UnixNano = w.to.Now()
	if !w.to.Record(ev, data) {
		w.refused++
	}
}
