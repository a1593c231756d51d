package report

import "testing"

// A span is below those that contain it, also where there is room above them.
func TestDepth(t *testing.T) {
	var l lane
	for _, c := range []struct {
		start, end int64
		depth      int32
	}{{0, 10, 0}, {5, 20, 1}, {12, 15, 2}, {13, 14, 3}, {16, 30, 0}, {21, 22, 1}, {30, 30, 0}, {30, 40, 0}} {
		if got := l.depth(&span{start: c.start, end: c.end}); got != c.depth {
			t.Errorf("span from %d to %d has the depth %d, want %d", c.start, c.end, got, c.depth)
		}
	}
}

// A process that is its own ancestor, as where ids were used again, does not hide its lanes.
func TestCircle(t *testing.T) {
	l := lanes{of: map[actor]int32{}}
	for pid := range int32(4) {
		l.process(0, pid, int64(pid))
	}
	l.nodes[0].parent, l.nodes[1].parent, l.nodes[2].parent = 2, 0, 1
	l.arrange()
	if len(l.order) != 4 {
		t.Errorf("%d lanes of 4 are shown", len(l.order))
	}
}
