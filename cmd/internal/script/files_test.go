package script_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// writeAccesses writes the log of a build: a make and its compilers, each of which reads headers and writes an
// object that a linker reads. It has at least so many accesses.
func writeAccesses(t *testing.T, path string, accesses int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend}, f)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	rec, err := s.Recorder()
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	record := func(pid int, id posixtrace.EventID, data []byte) {
		for range 1000 { // the log takes what the stream has
			if rec.Record(posixtrace.EventInfo{ID: id, PID: pid, TID: pid}, data) {
				return
			}
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		lost++
	}
	access := func(pid int, k posixtrace.FileKind, m posixtrace.FileMode, path, to string) {
		d := posixtrace.FileData{Kind: k, Mode: m, Bytes: -1, Path: path, To: to, Device: 1}
		record(pid, posixtrace.EventFileAccess, d.Append(nil))
		accesses--
	}
	record(1, posixtrace.EventProcExec, (&posixtrace.ExecData{Path: "/usr/bin/make", Argv: []string{"make"}}).Append(nil))
	for i := 0; accesses > 0; i++ {
		pid := 2 + i
		source := fmt.Sprintf("/home/user/project/src/module%d/file%d", i%100, i)
		record(1, posixtrace.EventProcFork, (&posixtrace.ForkData{Child: pid}).Append(nil))
		record(pid, posixtrace.EventProcExec, (&posixtrace.ExecData{Path: "/usr/bin/cc", Argv: []string{"cc", "-O2", "-c", source + ".c", "-o", source + ".o"}}).Append(nil))
		access(pid, posixtrace.FileOpen, posixtrace.FileRead, source+".c", "")
		for h := range 90 {
			access(pid, posixtrace.FileOpen, posixtrace.FileRead, fmt.Sprintf("/usr/include/library%d/header%d.h", h%10, (i+h*h)%3000), "")
		}
		for n := range 4 {
			access(pid, posixtrace.FileOpen, posixtrace.FileWrite|posixtrace.FileCreate, fmt.Sprintf("%s.%d", source, n), "")
			access(pid, posixtrace.FileUnlink, 0, fmt.Sprintf("%s.%d", source, n), "")
		}
		access(pid, posixtrace.FileOpen, posixtrace.FileWrite|posixtrace.FileCreate, source+".o.tmp", "")
		access(pid, posixtrace.FileRename, 0, source+".o.tmp", source+".o")
		record(pid, posixtrace.EventProcExit, (&posixtrace.ExitData{}).Append(nil))
	}
	if err := errors.Join(rec.Close(), s.Shutdown()); err != nil || lost > 0 {
		t.Fatal(err, lost)
	}
}

// What processes did with files takes little memory, whatever is shown of it.
func TestFilesMemory(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	accesses, bound := 100_000, 128<<10 // KiB
	if tracetest.Scale(1, 2, 2) > 1 {
		accesses, bound = 1_000_000, 256<<10
	}
	log := filepath.Join(t.TempDir(), "x.trace")
	writeAccesses(t, log, accesses)
	if err := os.WriteFile(filepath.Join(filepath.Dir(log), "declared"), []byte("read /usr/*\nread *\nwrite *\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--files"}, {"--files", "-j"}, {"--history=*/header7.h"}, {"--unused"}, {"--races"}, {"--dot"}, {"--undeclared=" + filepath.Join(filepath.Dir(log), "declared")}} {
		start := time.Now()
		var errs bytes.Buffer
		cmd := exec.Command("max-rss", slices.Concat([]string{"ptrace-dump"}, args, []string{log})...)
		cmd.Stderr = &errs
		err := cmd.Run()
		kib, aerr := strconv.Atoi(strings.TrimSpace(errs.String()))
		if err != nil || aerr != nil {
			t.Errorf("%q: %v, %s", args, err, errs.Bytes())
			continue
		}
		t.Logf("%q: %v, of the processor %v, %d MiB", args, time.Since(start).Round(time.Millisecond), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(time.Millisecond), kib>>10)
		if kib > bound {
			t.Errorf("%q: %d KiB of memory for %d accesses, want at most %d", args, kib, accesses, bound)
		}
	}
}
