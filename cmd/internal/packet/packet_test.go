package tracer

import (
	"testing"

	"golang.org/x/sys/unix"
)

// receive returns the packets that the peer sent before it closed its end, even if the peer
// has not read everything.
func TestReceiveBeforePeerClosed(t *testing.T) {
	ours, theirs, err := socketPair(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ours)
	send(theirs, reportReleased, nil)
	send(ours, orderRelease, nil)
	unix.Close(theirs)
	for _, want := range []byte{reportReleased, 0} {
		if what, _ := receive(ours); what != want {
			t.Errorf("received %q, want %q", what, want)
		}
	}
}
