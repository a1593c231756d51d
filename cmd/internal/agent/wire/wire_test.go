package wire

import (
	"testing"
	"unsafe"
)

// The bits of a word stand for the calls, those of another one for the areas. Each begins in a cache line of its
// own, and the data of a call has room for what it may hold.
func TestLayout(t *testing.T) {
	var c Channel
	if Calls > 8*unsafe.Sizeof(c.Pending) || Areas > 8*unsafe.Sizeof(c.Wanted) {
		t.Errorf("%d calls, %d areas", Calls, Areas)
	}
	for name, at := range map[string]uintptr{
		"calls": unsafe.Offsetof(c.Call), "a call": unsafe.Sizeof(c.Call[0]), "data": unsafe.Offsetof(c.Call[0].Data),
		"areas": unsafe.Offsetof(c.Area), "an area": unsafe.Sizeof(c.Area[0]), "batches": unsafe.Offsetof(c.Area[0].Batch),
		"a batch": unsafe.Sizeof(c.Area[0].Batch[0]), "its data": unsafe.Offsetof(c.Area[0].Batch[0].Data),
	} {
		if at%64 != 0 {
			t.Errorf("%s at %d", name, at)
		}
	}
	const longest = 4096 // PATH_MAX
	if DirAt+longest > DataSize || unsafe.Sizeof(Status{}) > DataSize {
		t.Errorf("the directory is at %d of %d bytes", DirAt, DataSize)
	}
	for _, state := range []uint32{Idle, Asked, Parked, Giving, Done} {
		if state&^StateMask != 0 || StateStep != StateMask+1 {
			t.Errorf("state %d", state)
		}
	}
	if unsafe.Sizeof(Item{})%8 != 0 {
		t.Error("the data of an item is not aligned")
	}
}
