//go:build !linux

package sys

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// What only a stream needs fails with ENOSYS. Where nothing is known of a process or a lock, the answer
// harms no stream: the process lives, the lock is held.
func TestNoStreamsElsewhere(t *testing.T) {
	f, err := os.Create(filepath.Join(tracetest.Dir(t), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fails := map[string]error{
		"Allocate": Allocate(f, 1), "Punch": Punch(f, 0, 1), "Unmap": Unmap(make([]byte, 1)), "Flock": Flock(f, true, true),
		"FlockWithin": FlockWithin(f, 1), "Funlock": Funlock(f), "Hold": Hold(f), "HoldAs": HoldAs(f, 1), "HoldShared": HoldShared(f),
		"HoldSharedAs": HoldSharedAs(f, 1), "ReleaseAs": ReleaseAs(f, 1), "UnlinkAt": UnlinkAt(f, "a"), "RemoveDirAt": RemoveDirAt(f, "a"),
		"RenameNoReplace": RenameNoReplace(f, "a", "b"), "EachProcess": EachProcess(nil), "MayTrace": MayTrace(Proc{PID: 1}),
	}
	_, fails["Map"] = Map(f, 1, true)
	_, fails["MapAnon"] = MapAnon(1)
	_, fails["NewAlarm"] = NewAlarm()
	_, fails["AreaAt"] = AreaAt(f, 1)
	_, fails["Lookup"] = Lookup(os.Getpid())
	_, fails["Stat"] = Stat(os.Getpid())
	_, fails["Children"] = Children(os.Getpid())
	_, fails["OpenAt"] = OpenAt(f, "a", 0, 0)
	_, fails["OpenFile"] = OpenFile("a", 0, 0)
	_, fails["OpenChecked"] = OpenChecked(f, "a", 0, 0, nil)
	_, fails["StatAt"] = StatAt(f, "a")
	_, _, fails["OpenDir"] = OpenDir(".", true)
	for name, err := range fails {
		if !errors.Is(err, syscall.ENOSYS) {
			t.Errorf("%s: %v, want ENOSYS", name, err)
		}
	}
	if held, err := FindHeldAs(f, 1); !held || err == nil || !Held(f) || !HeldAs(f, 1) || !(Proc{PID: 1}).Alive() {
		t.Error("a lock is free, or a process has ended")
	}
	if err := MayTrace(SelfProc()); err != nil || !SelfProc().IsSelf() {
		t.Errorf("this process: %v", err)
	}
}

// A log is opened unless the check of its status fails.
func TestOpenForReadingElsewhere(t *testing.T) {
	dir := tracetest.Dir(t)
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got FileStat
	f, err := OpenForReading(path, func(st *FileStat) error { got = *st; return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if st, err := Fstat(f); err != nil || got.Size != 3 || got.Mode&typeMask != typeRegular || st.Size != got.Size || !st.Mtime.Equal(got.Mtime) {
		t.Errorf("%+v, then %+v, %v", got, st, err)
	}
	no := errors.New("no")
	if _, err := OpenForReading(path, func(*FileStat) error { return no }); err != no {
		t.Errorf("refused: %v", err)
	}
	if _, err := OpenForReading(dir, func(st *FileStat) error { got = *st; return no }); err != no || got.Mode&typeMask != typeDir {
		t.Errorf("a directory: %+v, %v", got, err)
	}
	if _, err := OpenForReading(filepath.Join(dir, "missing"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}
