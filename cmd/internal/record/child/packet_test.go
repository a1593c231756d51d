package child

import (
	"testing"

	"golang.org/x/sys/unix"
)

// ReceivePacket returns the packets that the peer sent before it closed its end, even if the peer
// has not read everything.
func TestReceiveBeforePeerClosed(t *testing.T) {
	ours, theirs, err := PacketPair(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ours)
	SendPacket(theirs, 'r', nil)
	SendPacket(ours, 'q', nil)
	unix.Close(theirs)
	for _, want := range []byte{'r', 0} {
		if what, _ := ReceivePacket(ours); what != want {
			t.Errorf("Receive = %q, want %q", what, want)
		}
	}
}
