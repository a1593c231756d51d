package create

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/script/testdata/leaderless"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "leaderless" {
		leaderless.Become()
	}
	os.Exit(m.Run())
}

// A keeper does not mistake a process whose main thread has ended for one that has ended.
func TestAwaitEndOfLeaderless(t *testing.T) {
	pid, end := leaderless.Start(t)
	p, err := procfs.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(int, int) (int, error) { return -1, unix.ENOSYS }
	var waits []<-chan struct{}
	waits = append(waits, awaitEnd(p))
	pidfdOpen = refused
	waits = append(waits, awaitEnd(p))
	pidfdOpen = unix.PidfdOpen
	time.Sleep(2 * goneInterval) // the watcher without a pidfd polls in this time
	for i, ended := range waits {
		select {
		case <-ended:
			t.Errorf("%d: it has ended", i)
		default:
		}
	}
	end()
	for i, ended := range waits {
		select {
		case <-ended:
		case <-time.After(60 * time.Second):
			t.Errorf("%d: it does not end", i)
		}
	}
}
