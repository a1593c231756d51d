package posixtrace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

func init() {
	// scribbler: overwrites random parts of the file args[0] until it is killed.
	tracetest.Helpers["scribbler"] = func(args []string) {
		f, err := os.OpenFile(args[0], os.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		st, _ := f.Stat()
		b, err := sys.Map(f, int(st.Size()), true)
		if err != nil {
			panic(err)
		}
		seed, _ := strconv.ParseUint(args[1], 10, 64)
		rng := rand.New(rand.NewPCG(seed, 1))
		// It spares the constant part of some streams: damage there ends a stream at once.
		from := 0
		if seed%2 == 0 {
			from = 9 << 10
		}
		fmt.Println("on")
		for {
			for range 1 + rng.IntN(30) {
				size := len(b)
				switch rng.IntN(4) {
				case 0:
					size = min(size, 20<<10) // the header's control words, counts and writers
				case 1:
					size = min(size, 64<<10) // chunks' control words
				}
				at := from + rng.IntN(size-from-8)&^7
				v := binary.LittleEndian.Uint64(b[at:])
				switch rng.IntN(8) {
				case 0:
					v = 0
				case 1:
					v = 1
				case 2:
					v = ^uint64(0) >> rng.IntN(64)
				case 3:
					v++
				case 4:
					v--
				case 5:
					v ^= 1 << rng.IntN(64)
				case 6:
					v = rng.Uint64()
				case 7:
					v = binary.LittleEndian.Uint64(b[rng.IntN(len(b)-8):]) // valid elsewhere
				}
				binary.LittleEndian.PutUint64(b[at:], v)
			}
			time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond)
		}
	}
}

// TestScribbledStreamEndsNoProcess has a process of the same user overwrite streams while another
// records and the test makes all other calls. No process crashes, hangs or uses unbounded
// memory, and nothing is left behind.
func TestScribbledStreamEndsNoProcess(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	debug.SetTraceback("all")
	c := tracetest.Start(t, "target")
	c.Line()
	rounds := tracetest.Scale(24, 1000, 20000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range rounds {
		scribbleOnce(t, c, rand.New(rand.NewPCG(seed, uint64(n))), n%3)
		if t.Failed() {
			return
		}
		c.Say("after that")
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 256<<20 {
		t.Errorf("the process has grown by %d MiB", grown>>20)
	}
	// The traced process still works, too.
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID))
	if err != nil {
		t.Fatal(err)
	}
	if kb := statusNumber(string(status), "RssAnon:"); kb > 128<<10 {
		t.Errorf("the traced process has %d KiB", kb)
	}
	left, _ := filepath.Glob(filepath.Join(os.Getenv("PTRACE_DIR"), "[st]-*"))
	if len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func statusNumber(status, key string) (n int) {
	for i := 0; i+len(key) < len(status); i++ {
		if status[i:i+len(key)] == key {
			fmt.Sscan(status[i+len(key):], &n)
		}
	}
	return
}

func scribbleOnce(t *testing.T, c *tracetest.Child, rng *rand.Rand, kind int) {
	path := filepath.Join(t.TempDir(), "scribbled.trace")
	attr := &Attr{StreamSize: 64 << 10, LogFullPolicy: PolicyAppend, StreamFullPolicy: []FullPolicy{PolicyLoop, PolicyUntilFull, PolicyDefault}[rng.IntN(3)]}
	s, other, info := harmed(t, c, attr, kind == 0, path)
	late := time.AfterFunc(5*time.Minute, func() { panic("something hangs") })
	defer late.Stop()
	k := tracetest.Start(t, "scribbler", info.Path, strconv.FormatUint(rng.Uint64(), 10))
	defer func() {
		k.Cmd.Process.Kill()
		k.Cmd.Wait()
	}()
	k.Line()
	var wg sync.WaitGroup
	quit := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
					useAll(t, s, other, info, "")
				}
			}
		})
	}
	if kind != 0 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, _, err := other.Next(ctx, make([]byte, 100)); err != nil && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
		c.Say("3000*ev payload")
	}
	close(quit)
	cancel()
	wg.Wait()
	if kind == 2 {
		k.Cmd.Process.Kill() // no further damage
		k.Cmd.Wait()
	}
	s.Shutdown()
	if !exited(k) {
		k.Cmd.Process.Kill()
		k.Cmd.Wait()
	}
	s.Close()
	other.Close()
	// The next List removes a stream that could not be shut down.
	if _, err := List(); err != nil {
		t.Error(err)
	}
	if n, err := Create(0, nil); err != nil {
		t.Error(err)
	} else if err := n.Shutdown(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(info.Path); err == nil {
		// The stream may look alive, or like one of another version.
		a, err := Attach(info.Path)
		if err == nil {
			err = a.Shutdown()
		} else if errors.Is(err, stream.ErrForeign) {
			err = os.Remove(info.Path)
		}
		if _, e := os.Stat(info.Path); e == nil {
			t.Errorf("the file is still there: %v", err)
		}
	}
	if kind == 0 { // the log may be damaged, but must be safe to read
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if r, err := NewReader(f); err == nil {
			readAll(t, r, "")
			r.State()
			r.Close()
		}
	}
}

func exited(c *tracetest.Child) bool { return c.Cmd.ProcessState != nil }
