package sys

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProgramID(t *testing.T) {
	list, err := unix.Auxv()
	if err != nil {
		t.Fatal(err)
	}
	id := ProgramID()
	if id == 0 || id != programID(list) {
		t.Errorf("%#x, %#x", id, programID(list))
	}
	for i, e := range list {
		moved := slices.Clone(list)
		moved[i][1] += 16
		if counts := slices.Contains([]uintptr{3, 7, 9, 25, 31, 33}, e[0]); counts != (programID(moved) != id) {
			t.Errorf("entry %d at another place: %#x, before %#x", e[0], programID(moved), id)
		}
	}
	if programID(nil) == 0 {
		t.Error("0")
	}
}
