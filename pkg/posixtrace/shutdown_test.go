package posixtrace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// A second Shutdown of a stream returns after the first has removed the file: it may be the
// last call of its process.
func TestConcurrentShutdownWaitsForRemoval(t *testing.T) {
	for range 200 {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := CreateWithLog(0, &Attr{StreamSize: 8 << 10}, log)
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info()
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- s.Shutdown() }()
		for err == nil {
			runtime.Gosched()
			_, err = s.Info()
		}
		if err := s.Shutdown(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("the second Shutdown: %v", err)
		}
		if _, err := os.Stat(info.Path); !os.IsNotExist(err) {
			t.Errorf("there is still its file: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("the first Shutdown: %v", err)
		}
		log.Close()
	}
}
