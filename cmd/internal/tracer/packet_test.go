package tracer

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What was sent before the other end was closed is received, although that end has not
// read what it got.
func TestLastPacket(t *testing.T) {
	ours, theirs, err := socketPair(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ours)
	send(theirs, tellReleased, nil)
	send(ours, orderRelease, nil)
	unix.Close(theirs)
	for _, want := range []byte{tellReleased, 0} {
		if what, _ := receive(ours); what != want {
			t.Errorf("received %q, want %q", what, want)
		}
	}
}
