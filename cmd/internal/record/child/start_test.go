package child

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// start runs a command, and returns its exit status.
func start(t *testing.T, env []string, argv ...string) int {
	t.Helper()
	c, err := Start(argv, &Attr{Env: env, Files: [3]int{0, 1, 2}})
	if err != nil {
		t.Error(err)
		return -1
	}
	status, err := WaitID(c.PID, syscall.WEXITED, nil)
	if err != nil {
		t.Error(err)
	}
	return ExitStatus(status)
}

// The child of a start shares the stack and the memory of its parent. Starts are right beside each
// other, beside goroutines that allocate, and beside the garbage collector.
func TestStartBesideCollector(t *testing.T) {
	var done atomic.Bool
	var busy, starters sync.WaitGroup
	for range 2 {
		busy.Go(func() {
			var kept [100][]byte
			for n := 0; !done.Load(); n++ {
				if kept[n%100] = make([]byte, 1<<12); n%100 == 99 {
					kept = [100][]byte{}
					runtime.GC()
				}
			}
		})
	}
	for worker := range 4 {
		starters.Go(func() {
			for i := range 15 {
				n := worker*15 + i
				if got := start(t, []string{"N=" + strconv.Itoa(n)}, "/bin/sh", "-c", "exit $N"); got != n {
					t.Errorf("status %d, want %d", got, n)
				}
			}
		})
	}
	starters.Wait()
	done.Store(true)
	busy.Wait()
}

// PATH is searched as by execvp(3), and what cannot be executed has the status of env(1).
func TestStartSearch(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	file := filepath.Join(dir, "file")
	for _, d := range []string{first, second} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "", 0o600)
	write(filepath.Join(first, "script"), "exit $(($1 + 1))\n", 0o700) // without #!
	write(filepath.Join(first, "missing"), "#!/nonexistent/interpreter\n", 0o700)
	write(filepath.Join(second, "missing"), "#!/bin/sh\nexit 5\n", 0o700)
	write(filepath.Join(first, "lost"), "#!/nonexistent/interpreter\n", 0o700)
	write(filepath.Join(first, "plain"), "", 0o600)
	t.Setenv("PATH", file+":"+first+":"+second+":/bin")
	for _, tt := range []struct {
		argv []string
		want int
	}{{[]string{"script", "3"}, 4}, {[]string{"missing"}, 5}, {[]string{"true"}, 0}} {
		if got := start(t, nil, tt.argv...); got != tt.want {
			t.Errorf("%q: status %d, want %d", tt.argv, got, tt.want)
		}
	}
	for name, want := range map[string]int{"plain": 126, "lost": 127, "nowhere": 127, file + "/x": 127, dir: 126, "": 127} {
		c, err := Start([]string{name}, &Attr{Files: [3]int{0, 1, 2}})
		var f *cli.Fault
		if !errors.As(err, &f) || f.Status != want {
			t.Errorf("%q: %v, error %v, want status %d", name, c, err, want)
		}
	}
	if _, _, err := waitID(unix.P_ALL, 0, unix.WEXITED|unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("after the starts that failed, a wait says %v, want %v", err, unix.ECHILD)
	}
}

func TestPutNumber(t *testing.T) {
	for _, n := range []uint64{0, 9, 10, 4194304, 1<<64 - 1} {
		b := []byte("N=xxxxxxxxxxxxxxxxxxxxx")
		if end := putNumber(b, 2, n); string(b[2:end]) != strconv.FormatUint(n, 10) || b[end] != 0 {
			t.Errorf("%d: %q", n, b)
		}
	}
}
