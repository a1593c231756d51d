package script_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A 32-bit program runs normally among others. Its calls have other numbers and are not
// mistaken for those of this architecture; ptrace-run reports that once.
func TestTraceForeign(t *testing.T) {
	tracetest.Need(t, runtime.GOARCH == "amd64", "a processor with 32-bit programs that this test can write")
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tiny"), tinyProgram(), 0o700); err != nil {
		t.Fatal(err)
	}
	alone, _ := exec.Command(filepath.Join(dir, "tiny")).Output()
	tracetest.Need(t, string(alone) == "here\n", "a kernel that runs 32-bit programs")
	for _, events := range []string{"syscall,proc", "syscall.stat,syscall.write,proc", "proc,signal"} {
		log := filepath.Join(traces, "x.trace")
		var out, errs bytes.Buffer
		cmd := exec.Command("ptrace-run", "-e", events, "-o", log, "--", "sh", "-c", "./tiny; ./tiny; exit 5")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
		cmd.Stdout, cmd.Stderr = &out, &errs
		cmd.Run()
		if out.String() != "here\nhere\n" || cmd.ProcessState.ExitCode() != 5 {
			t.Errorf("-e %s: %v, %s", events, cmd.ProcessState, out.String())
		}
		reported := 0
		if strings.Contains(events, "syscall") {
			reported = 1
		}
		if strings.Count(errs.String(), "tiny are those of another architecture, and are not recorded\n") != reported {
			t.Errorf("-e %s reports %q", events, errs.String())
		}
		// Its write(2) has the number of stat(2) on this architecture, and its exit(2) that of
		// write(2).
		dump := traceCommand(t, dir, traces, nil, "ptrace-dump", "--golden", log).String()
		for line := range strings.Lines(dump) {
			if !strings.HasPrefix(line, "P1 ") && (strings.Contains(line, " syscall.stat ") || strings.Contains(line, " syscall.write ")) {
				t.Errorf("-e %s: %s", events, line)
			}
		}
		if strings.Count(dump, `tiny"`) < 2 || strings.Count(dump, "proc.exit status=3") != 2 {
			t.Errorf("-e %s: %s", events, dump)
		}
	}
}

// tinyProgram is a 32-bit program that writes "here" and exits with status 3.
func tinyProgram() []byte {
	const base, headers = 0x08048000, 52 + 32
	code := []byte("\xb8\x04\x00\x00\x00" + // mov $4, %eax: write
		"\xbb\x01\x00\x00\x00" + // mov $1, %ebx
		"\xb9????" + // mov $text, %ecx
		"\xba\x05\x00\x00\x00" + // mov $5, %edx
		"\xcd\x80" + // int $0x80
		"\xb8\x01\x00\x00\x00" + // mov $1, %eax: exit
		"\xbb\x03\x00\x00\x00" + // mov $3, %ebx
		"\xcd\x80") // int $0x80
	le := binary.LittleEndian
	le.PutUint32(code[11:], base+headers+uint32(len(code)))
	code = append(code, "here\n"...)
	b := []byte("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	b, _ = binary.Append(b, le, struct {
		Type, Machine                             uint16
		Version, Entry, Programs, Sections, Flags uint32
		Size, ProgramSize, ProgramCount, _, _, _  uint16
	}{Type: 2, Machine: 3, Version: 1, Entry: base + headers, Programs: 52, Size: 52, ProgramSize: 32, ProgramCount: 1})
	size := uint32(headers + len(code))
	b, _ = binary.Append(b, le, [8]uint32{1, 0, base, base, size, size, 5, 0x1000})
	return append(b, code...)
}
