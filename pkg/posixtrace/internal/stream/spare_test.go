package stream

import (
	"os"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Spare does not free the header, nor a chunk whose writer is in the middle of an event: a store to
// freed memory could kill the writer's process.
func TestSpareKeepsHeaderAndBusyChunks(t *testing.T) {
	for _, size := range []int64{1 << 10, 64 << 10, 8 << 20} {
		g, ok := Measure(size, 256, 4)
		if !ok {
			t.Fatal(size)
		}
		m, err := Format(make([]byte, g.Size), &Config{Geometry: g, ID: 1, Attributes: attributes(256, Loop), Creator: sys.SelfProc()}, true)
		if err != nil {
			t.Fatal(err)
		}
		m.Spare(func(off, n int64) { t.Errorf("%d bytes at %d of a living stream", n, off) })
		w, err := m.NewWriter(1, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		m.change(Running, 0)
		w.Record(0, &Event{ID: event.Unnamed}, nil)
		m.Kill()
		all := int64(0)
		m.Spare(func(off, n int64) { all += n })
		page := int64(os.Getpagesize())
		if data := int64(g.Chunks) * int64(g.ChunkSize); all < data-2*page || all > data {
			t.Errorf("%d of %d bytes", all, data)
		}
		for _, busy := range []int{0, 1, g.Chunks / 2, g.Chunks - 1} {
			d := m.at(busy)
			d.ctl.Or(uint64(busyBit))
			from := int64(dataOffset(g.Chunks)) + int64(busy)*int64(g.ChunkSize)
			to := from + int64(g.ChunkSize)
			m.Spare(func(off, n int64) {
				if off < int64(dataOffset(g.Chunks)) || off%page != 0 || n%page != 0 || n <= 0 ||
					off < to && off+n > from || off+n > int64(dataOffset(g.Chunks))+int64(g.Chunks)*int64(g.ChunkSize) {
					t.Errorf("chunk %d is busy, %d to %d: %d bytes at %d", busy, from, to, n, off)
				}
			})
			d.ctl.And(^uint64(busyBit))
		}
		w.Close()
	}
}
