package packet

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Receive returns the packets that the peer sent before it closed its end, even if the peer
// has not read everything.
func TestReceiveBeforePeerClosed(t *testing.T) {
	ours, theirs, err := Pair(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ours)
	Send(theirs, 'r', nil)
	Send(ours, 'q', nil)
	unix.Close(theirs)
	for _, want := range []byte{'r', 0} {
		if what, _ := Receive(ours); what != want {
			t.Errorf("Receive = %q, want %q", what, want)
		}
	}
}
