package posixtrace

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// ourSlots is the number of writer slots of this process in a stream.
func ourSlots(c *conn.Conn) (n int) {
	for _, p := range writersOf(c.Mem) {
		if p == sys.SelfProc() {
			n++
		}
	}
	return n
}

// Two Go runtimes in one process, such as those of two c-shared libraries, have one pid and start
// time. Each leaves the other's chunks alone, and recovers those of an earlier program of the
// process.
func TestTwoRuntimesInOneProcess(t *testing.T) {
	s, err := Create(0, &Attr{StreamSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := OpenEventID("runtimes")
	if err != nil {
		t.Fatal(err)
	}
	const each = 200
	number := func(runtime, n int) []byte {
		return binary.LittleEndian.AppendUint32(nil, uint32(runtime*each+n))
	}
	Event(id, number(0, 0)) // takes a chunk

	// An earlier program leaves a slot, and no lock in the kernel that holds it.
	earlier, err := conn.Open(s.c.Dir, s.c.ID)
	if err != nil {
		t.Fatal(err)
	}
	left, ok := earlier.TakeSlot(false)
	if !ok {
		t.Fatal("no slot")
	}
	w, err := earlier.Mem.NewWriter(left, sys.SelfProc().PID, 1)
	if err != nil {
		t.Fatal(err)
	}
	who := stream.Who(sys.SelfProc().PID, 1)
	w.Append(0, event.ID(EventUnnamed), who, 0, sys.Ticks(), []byte("left"))
	before := ourSlots(s.c)
	runtime.KeepAlive(earlier)
	earlier.Release()

	var other *conn.Attachment
	conn.AnotherRuntime(func() {
		var c *conn.Conn
		if c, err = conn.Open(s.c.Dir, s.c.ID); err == nil {
			other, err = conn.Attach(c, sys.SelfProc(), 1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Conn.Release()
	defer other.Close()
	if n := ourSlots(s.c); n != before {
		t.Errorf("%d slots are taken; of the %d before, one was left by an earlier program, and another runtime has taken one", n, before)
	}
	if slot := other.Writer.Slot(); slot != left {
		t.Errorf("the other runtime is in slot %d; the one that was left is %d", slot, left)
	}
	other.Conn.File.Close() // as a traced process does: the mapping keeps the lock

	// Each continues while new ones connect.
	want := [2][]int{{0}, nil}
	for n := 1; n < each; n++ {
		Event(id, number(0, n))
		want[0] = append(want[0], n)
		other.Writer.Append(0, event.ID(id), who, 0, sys.Ticks(), number(1, n))
		want[1] = append(want[1], n)
		if n%(each/8) == 0 {
			conn.AnotherRuntime(func() {
				c, err := conn.Open(s.c.Dir, s.c.ID)
				if err != nil {
					t.Error(err)
					return
				}
				c.SweepSelf(false)
				c.Release()
			})
			if n := ourSlots(s.c); n != before {
				t.Fatalf("%d slots are taken after another runtime has come, not %d", n, before)
			}
		}
	}
	var got [2][]int
	saved, data := false, make([]byte, 64)
	for {
		ev, n, err := s.TryNext(data)
		if err != nil {
			break
		}
		switch ev.ID {
		case id:
			v := int(binary.LittleEndian.Uint32(data[:n]))
			got[v/each] = append(got[v/each], v%each)
		case EventUnnamed:
			saved = saved || string(data[:n]) == "left"
		}
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("runtime %d: %d events in this order %v, not %d", i, len(got[i]), got[i], len(want[i]))
		}
	}
	if !saved {
		t.Error("the event of the earlier program is gone")
	}
	if st, err := s.Status(); err != nil || st.Lost != 0 {
		t.Errorf("status %+v, %v", st, err)
	}
}
