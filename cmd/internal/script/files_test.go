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

	"github.com/posixtrace/posixtrace/internal/hostile"
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

// Whatever the names of files and the arguments of commands are, what is shown of them is harmless on a terminal,
// each row is one line, and a secret that --redact names is in none.
func TestHostileFiles(t *testing.T) {
	log := filepath.Join(t.TempDir(), "x.trace")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	large := 1 << 16
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamSize: 4 << 20, MaxDataSize: &large, LogFullPolicy: posixtrace.PolicyAppend}, f)
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
	record := func(pid int, id posixtrace.EventID, d interface{ Append([]byte) []byte }) {
		if !rec.Record(posixtrace.EventInfo{ID: id, PID: pid, TID: pid}, d.Append(nil)) {
			t.Fatal("an event is lost")
		}
	}
	const secret = "pass-Wort-77"
	texts := append(hostile.Texts(), "::error::x", "##[error]x", "x\n::set-output name=a::b", secret, "a/"+secret+"/b")
	for i, text := range texts {
		text = strings.ReplaceAll(text, "\x00", "")
		pid := 3 * i
		record(pid+1, posixtrace.EventProcExec, &posixtrace.ExecData{Path: "/bin/make", Argv: []string{"make", text}})
		for child := pid + 2; child < pid+4; child++ {
			record(pid+1, posixtrace.EventProcFork, &posixtrace.ForkData{Child: child})
			record(child, posixtrace.EventProcExec, &posixtrace.ExecData{Path: "/bin/" + text, Argv: []string{text, text}})
		}
		path := "/" + text
		record(pid+2, posixtrace.EventFileAccess, &posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileWrite | posixtrace.FileCreate, Path: path + ".new"})
		record(pid+2, posixtrace.EventFileAccess, &posixtrace.FileData{Kind: posixtrace.FileRename, Path: path + ".new", To: path})
		record(pid+3, posixtrace.EventFileAccess, &posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileRead, Path: "/l" + path, Canonical: path})
		record(pid+3, posixtrace.EventFileAccess, &posixtrace.FileData{Kind: posixtrace.FileMissing, Count: 1, Path: path + text})
		for child := pid + 2; child < pid+4; child++ {
			record(child, posixtrace.EventProcExit, &posixtrace.ExitData{})
		}
	}
	if err := errors.Join(rec.Close(), s.Shutdown()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "none"), []byte("read /nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := dumpOf(t, dir, os.Environ(), []string{"--files"}, log); !bytes.Contains(out, []byte(secret)) {
		t.Error("the table lacks the secret without --redact")
	}
	for _, form := range []string{"--files", "--history=*", "--unused", "--dot", "--races", "--undeclared=none"} {
		for _, args := range [][]string{{form}, {form, "-j"}} {
			out := dumpOf(t, dir, os.Environ(), append(args, "--redact="+secret), log)
			also := ""
			if form == "--dot" {
				also = "\t" // begins each line
			}
			harmless(t, strings.Join(args, " "), out, also)
			if len(out) == 0 || bytes.Contains(out, []byte(secret)) {
				t.Errorf("%q: %d bytes, with the secret: %v", args, len(out), bytes.Contains(out, []byte(secret)))
			}
			for line := range bytes.Lines(out) {
				if text := string(line); strings.HasPrefix(strings.TrimLeft(text, " "), "::") || strings.Contains(text, "##[") {
					t.Errorf("%q: %q is a command of a CI runner", args, text)
				}
			}
		}
	}
	var out bytes.Buffer
	cmd := exec.Command("ptrace-diff", "-j", "--golden", log, log)
	if cmd.Stdout = &out; cmd.Run() != nil {
		t.Errorf("a log differs from itself: %s", out.Bytes())
	}
}
