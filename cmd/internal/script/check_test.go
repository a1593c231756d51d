package script_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// blocksOf returns the offsets and the lengths of the blocks of a kind in a log.
func blocksOf(log []byte, kind string) (at, size []int) {
	id := log[24:32]
	for i := 0; i+64 <= len(log); i += 8 {
		if string(log[i:i+4]) == kind && bytes.Equal(log[i+8:i+16], id) {
			at = append(at, i)
			size = append(size, 64+int(binary.LittleEndian.Uint32(log[i+4:])))
		}
	}
	return at, size
}

// ptrace-dump shows the events of a LOOP log that is truncated after them with their names
// and times, and reports it as not whole. It used to show dates of 1970, and numbers for
// most names.
func TestCutLoopLogKeepsNamesAndTimes(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.Mkdir(filepath.Join(dir, "traces"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("ptrace-run", "-o", log, "--log-full-policy=loop", "--log-size=64K", "--stream-size=16K", "--", "sh", "-c",
		"for i in $(seq 30); do ptrace-event step.$i $(head -c 900 /dev/zero | tr '\\0' x) $i; ptrace-ctl flush -w; done; ptrace-event a.last line")
	run.Env = append(os.Environ(), "PTRACE_DIR="+filepath.Join(dir, "traces"), "PTRACE_STREAM=")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dump := func(log []byte, piped bool) (out, said string, err error) {
		t.Helper()
		cut := filepath.Join(dir, "cut")
		if err := os.WriteFile(cut, log, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("ptrace-dump", "--time=abs", cut)
		if piped {
			cmd.Args[2] = "-"
			cmd.Stdin = bytes.NewReader(log)
		}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err = cmd.Run()
		return stdout.String(), stderr.String(), err
	}
	sound, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := dump(sound, false)
	if err != nil || !strings.Contains(want, "a.last") {
		t.Fatalf("%v: %s", err, want)
	}
	anchors, _ := blocksOf(sound, "KNOT")
	types, size := blocksOf(sound, "TYPE")
	if len(anchors) != 2 || len(types) < 30 {
		t.Fatalf("%d slots for the clock, %d blocks of types", len(anchors), len(types))
	}
	for _, at := range []int{anchors[1], anchors[1] + 64, types[1], types[2] + size[2] - 8, types[len(types)-1], len(sound) - 8} {
		for _, piped := range []bool{false, true} {
			got, said, err := dump(sound[:at], piped)
			if err == nil || !strings.Contains(said, "log is incomplete") {
				t.Errorf("cut at %d: %v, %q", at, err, said)
			}
			if got != want {
				t.Errorf("cut at %d, from a pipe %v: other names or times:\n%.600s\nwant:\n%.600s", at, piped, got, want)
			}
		}
	}
}

// --check reports a finished log that is not whole, whatever is missing: a block of types,
// which only the names reveal, or one of the two slots for the clock of a LOOP log.
func TestCheckFindsWhatIsNotWhole(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir := t.TempDir()
	env := append(os.Environ(), "PTRACE_DIR="+filepath.Join(dir, "traces"), "PTRACE_STREAM=")
	if err := os.Mkdir(filepath.Join(dir, "traces"), 0o700); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad")
	check := func(log []byte, piped bool) (said string, err error) {
		t.Helper()
		if err := os.WriteFile(bad, log, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("ptrace-dump", "--check", bad)
		if piped {
			cmd.Args[2] = "-"
			cmd.Stdin = bytes.NewBuffer(log)
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, policy := range []string{"loop", "append", "until-full"} {
		log := filepath.Join(dir, policy)
		run := exec.Command("ptrace-run", "-n", policy, "-o", log, "--log-full-policy="+policy, "--", "sh", "-c",
			"ptrace-event first one && ptrace-ctl flush -w && ptrace-event second two && ptrace-ctl flush -w && ptrace-event third 3")
		run.Env = env
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		sound, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		at, size := blocksOf(sound, "TYPE")
		if len(at) < 2 {
			t.Fatalf("%s: %d blocks of types", policy, len(at))
		}
		for _, piped := range []bool{false, true} {
			if said, err := check(sound, piped); err != nil || said != "" {
				t.Errorf("%s, sound: %v: %s", policy, err, said)
			}
			for i := range at {
				without := slices.Delete(slices.Clone(sound), at[i], at[i]+size[i])
				if said, err := check(without, piped); err == nil || !strings.Contains(said, "log is ") {
					t.Errorf("%s: without block %d of types, from a pipe %v: status 0, %q", policy, i, piped, said)
				}
			}
			if policy != "loop" {
				continue
			}
			at, size := blocksOf(sound, "KNOT")
			if len(at) != 2 {
				t.Fatalf("%d slots for the clock", len(at))
			}
			for i := range at {
				for _, k := range []int{0, 4, 8, 20, 48, 60, size[i] - 1} {
					hurt := slices.Clone(sound)
					hurt[at[i]+k] ^= 4
					if said, err := check(hurt, piped); err == nil || !strings.Contains(said, "log is damaged: clock anchors at ") {
						t.Errorf("byte %d of slot %d for the clock changed, from a pipe %v: status 0, %q", k, i, piped, said)
					}
				}
			}
		}
	}
}
