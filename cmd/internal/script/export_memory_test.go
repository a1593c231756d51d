package script_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// exportedLog creates a log of count events of all kinds: processes with system calls, captured lines,
// user events, spans with keys and without, and some that stay open.
func exportedLog(t *testing.T, path string, count int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "traces")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamSize: 8 << 20, StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend}, f)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	calls, err := s.OpenSystemEventIDs("syscall.openat", "syscall.read")
	if err != nil {
		t.Fatal(err)
	}
	var ids [4]posixtrace.EventID
	for i, name := range []string{"point", "job.begin", "job.end", "left.begin"} {
		if ids[i], err = posixtrace.OpenEventID(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	to, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	record := func(id posixtrace.EventID, pid int, key uint64, data []byte) {
		n++
		if !to.Record(posixtrace.EventInfo{ID: id, PID: pid, TID: pid, Address: uint64(0x400000 + n%5000*64), UnixNano: to.Now(), Span: key}, data) {
			t.Fatal("an event was not recorded")
		}
	}
	for i := 0; n < count; i++ {
		pid := 100 + i%40_000
		record(posixtrace.EventProcFork, 1, 0, (&posixtrace.ForkData{Child: pid}).Append(nil))
		record(posixtrace.EventProcExec, pid, 0, (&posixtrace.ExecData{Path: "/usr/bin/cc", Argv: []string{"cc", "-c", "file" + strconv.Itoa(i) + ".c"}}).Append(nil))
		record(ids[1], pid, uint64(i+1), []byte("compile"))
		for k := range 20 + i%150 {
			call := posixtrace.SyscallData{Result: int64(k), Duration: time.Duration(i), Returned: true, Args: []posixtrace.SyscallArg{
				{Value: []byte("AT_FDCWD")}, {Value: []byte("/usr/include/file" + strconv.Itoa(i%10_000) + ".h"), String: true}, {Value: []byte("O_RDONLY|O_CLOEXEC")}}}
			record(calls[k%2], pid, 0, call.Append(nil))
		}
		record(posixtrace.EventOutputStdout, pid, 0, (&posixtrace.OutputData{Line: fmt.Appendf(nil, "compiled file %d", i)}).Append(nil))
		record(ids[0], pid, 0, fmt.Appendf(nil, "event %d", i))
		record(ids[2], pid, uint64(i+1), nil)
		if i%3 == 0 {
			record(ids[3], pid, uint64(1<<40+i), []byte("stays open"))
		}
		if i%10 != 0 { // the others have no end
			record(posixtrace.EventProcExit, pid, 0, (&posixtrace.ExitData{MaxRSS: 1 << 25}).Append(nil))
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

// A long log of all kinds of events takes bounded memory in each format, with the program as it is
// shipped.
func TestExportMemory(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	count := tracetest.Scale(1_000_000, 10_000_000, 10_000_000)
	dir := t.TempDir()
	program := filepath.Join(dir, "ptrace-export")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "github.com/posixtrace/posixtrace/cmd/ptrace-export")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log := filepath.Join(dir, "big.trace")
	exportedLog(t, log, count)
	for _, format := range []struct {
		name string
		most int // KiB
	}{{"ctf", 64 << 10}, {"otlp", 64 << 10}, {"parquet", 256 << 10}} {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		dest := filepath.Join(dir, "out."+format.name)
		out, err := exec.CommandContext(ctx, "max-rss", program, "--to="+format.name, "-o", dest, log).CombinedOutput()
		cancel()
		kib, aerr := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil || aerr != nil {
			t.Fatalf("%s: %v: %s", format.name, err, out)
		}
		t.Logf("%s: %d events, %d MiB", format.name, count, kib>>10)
		if kib > format.most {
			t.Errorf("%s: %d KiB of memory, want at most %d", format.name, kib, format.most)
		}
		if err := os.RemoveAll(dest); err != nil {
			t.Fatal(err)
		}
	}
}
