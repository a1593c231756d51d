package command

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// blocksOf returns where the blocks of a kind begin in a log, and how long they are.
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

// A finished log that is not whole is reported, whatever is missing: a block of types, of which
// nothing but the names tells, or one of the two slots for the clock of a LOOP log.
func TestCheckFindsWhatIsNotWhole(t *testing.T) {
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
					if said, err := check(hurt, piped); err == nil || !strings.Contains(said, "log is damaged: knots at ") {
						t.Errorf("byte %d of slot %d for the clock changed, from a pipe %v: status 0, %q", k, i, piped, said)
					}
				}
			}
		}
	}
}
