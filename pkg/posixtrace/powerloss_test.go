package posixtrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// TestPowerLoss simulates a loss of power. Each round mounts a file system from an image,
// records to a log on it, syncs the log now and then, and shuts the file system down at any
// moment, which discards its dirty pages. After the next mount the log must hold every event
// recorded before a successful Sync (or, with SetSync, Flush); any further events are those
// recorded next, without a gap.
func TestPowerLoss(t *testing.T) {
	tracetest.NeedRoot(t)
	_, err := os.Stat("/dev/loop-control")
	tracetest.Need(t, err == nil, "loop devices")
	rounds := 4
	if tracetest.Full() {
		rounds = 200
	}
	for _, c := range []struct {
		fs, options string
		size        int64
		rounds      int
	}{
		{"ext4", "commit=1", 24 << 20, (rounds + 1) / 2},
		{"ext4", "commit=1000", 24 << 20, rounds / 2},
		{"ext4", "commit=1,data=writeback", 24 << 20, rounds / 4},
		{"xfs", "", 300 << 20, rounds},
	} {
		t.Run(strings.Trim(c.fs+","+c.options, ","), func(t *testing.T) {
			t.Parallel()
			mkfs, err := exec.LookPath("mkfs." + c.fs)
			tracetest.Need(t, err == nil, "mkfs."+c.fs)
			dir := t.TempDir()
			img := filepath.Join(dir, "img")
			if err := os.WriteFile(img, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(img, c.size); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(mkfs, "-q", img).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", mkfs, err, out)
			}
			mnt := filepath.Join(dir, "mnt")
			if err := os.Mkdir(mnt, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], img, mnt, c.fs, strings.Trim("loop,"+c.options, ","), strconv.Itoa(max(c.rounds, 1)))
			// With one processor the events lie in the log in the order of their numbers.
			cmd.Env = append(os.Environ(), tracetest.HelperVar+"=power-loss", tracetest.Quick, "GOMAXPROCS=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			out, err := cmd.CombinedOutput()
			lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
			last := lines[len(lines)-1]
			if err != nil || !bytes.HasPrefix(last, []byte("ok ")) {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", last)
		})
	}
}

func init() {
	tracetest.Helpers["power-loss"] = func(args []string) {
		p := powerLoss{img: args[0], mnt: args[1], fs: args[2], options: args[3]}
		rounds, _ := strconv.Atoi(args[4])
		for i := range rounds {
			p.round(i, rand.New(rand.NewPCG(uint64(i), uint64(len(p.options)))))
		}
		fmt.Printf("ok %d rounds: %d events recorded, %d of them synced, %d read; %d logs with more than was synced, %d that were gone, %d Syncs failed after the cut\n",
			rounds, p.recorded, p.synced, p.read, p.more, p.gone, p.failed)
	}
}

type powerLoss struct {
	img, mnt, fs, options string

	recorded, synced, read int
	more, gone, failed     int
}

func (p *powerLoss) mount() {
	out, err := exec.Command("mount", "-t", p.fs, "-o", p.options, p.img, p.mnt).CombinedOutput()
	tracetest.Check(err == nil, "mount: %v %s", err, out)
}

// cut is the loss of power: EXT4_IOC_SHUTDOWN, or XFS_IOC_GOINGDOWN, without
// writing the journal.
func (p *powerLoss) cut() {
	d, err := os.Open(p.mnt)
	tracetest.Check(err == nil, "open: %v", err)
	defer d.Close()
	err = unix.IoctlSetPointerInt(int(d.Fd()), 0x8004587d, 2)
	tracetest.Check(err == nil, "shutdown of the file system: %v", err)
}

// data holds the numbers of the round and of the event, and bytes that show whether the event
// is whole.
func (p *powerLoss) data(round, n int) []byte {
	b := make([]byte, 8+n*37%900)
	binary.LittleEndian.PutUint32(b, uint32(n))
	binary.LittleEndian.PutUint32(b[4:], uint32(round))
	for i := range b[8:] {
		b[8+i] = byte(n + i)
	}
	return b
}

func (p *powerLoss) round(round int, rnd *rand.Rand) {
	p.mount()
	path := filepath.Join(p.mnt, "log")
	os.Remove(path)
	if round%2 == 0 { // otherwise the removal may be lost, too
		unix.Sync()
	}
	attr := Attr{StreamSize: 256 << 10, LogSize: 8 << 20, LogFullPolicy: []FullPolicy{PolicyAppend, PolicyUntilFull, PolicyLoop}[round%3]}
	if round%6 == 5 {
		attr.LogSize = 64 << 10 // newer events replace the oldest
	}
	f, err := os.Create(path)
	tracetest.Check(err == nil, "create: %v", err)
	s, err := CreateWithLog(0, &attr, f)
	tracetest.Check(err == nil, "CreateWithLog: %v", err)
	f.Close()
	always := round%5 < 2
	if always {
		tracetest.Check(s.SetSync(true) == nil, "SetSync: %v", err)
	}
	id, err := OpenEventID("power")
	tracetest.Check(err == nil, "OpenEventID: %v", err)
	tracetest.Check(s.Start() == nil, "Start")

	var recorded atomic.Int64
	stop, stopped := make(chan bool), make(chan bool)
	pause, burst := time.Duration(rnd.IntN(400))*time.Microsecond, 1+rnd.IntN(60)
	go func() {
		defer close(stopped)
		for {
			// A full stream would lose events, and have gaps.
			used, all := s.c.Mem.Used()
			for i := 0; i < burst && 3*used < all; i++ {
				Event(id, p.data(round, int(recorded.Load())))
				recorded.Add(1)
			}
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
		}
	}()
	synced := 0
	for range rnd.IntN(5) {
		time.Sleep(time.Duration(rnd.IntN(8)) * time.Millisecond)
		n := int(recorded.Load())
		switch {
		case always:
			err = s.Flush()
		case rnd.IntN(3) == 0:
			err = s.Flush() // promises nothing
			n = synced
		default:
			err = s.Sync()
		}
		tracetest.Check(err == nil, "before the cut: %v", err)
		synced = n
	}
	time.Sleep(time.Duration(rnd.IntN(5000)) * time.Microsecond)
	if rnd.IntN(2) == 0 {
		// In the middle of a sync.
		done := make(chan int)
		go func() {
			n := int(recorded.Load())
			if s.Sync() != nil {
				n = 0
			}
			done <- n
		}()
		time.Sleep(time.Duration(rnd.IntN(3000)) * time.Microsecond)
		p.cut()
		synced = max(synced, <-done)
	} else {
		p.cut()
	}
	// Sync fails for data that did not reach the device, each time.
	for range 2 {
		err := s.Sync()
		tracetest.Check(errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EROFS), "Sync after the cut = %v", err)
		p.failed++
	}
	close(stop)
	<-stopped
	log := s.log.Writer()
	err = s.Shutdown()
	// A loop log has replaced its oldest events. Its slots reach the device one by one, which leaves
	// gaps after the last Sync.
	given := int(log.Replaced() - log.ReplacedMarks())
	tracetest.Check(err != nil || !always, "Shutdown after the cut succeeds")
	tracetest.Check(unix.Unmount(p.mnt, 0) == nil, "umount: %v", err)

	p.mount()
	p.recorded += int(recorded.Load())
	p.synced += synced
	there := p.events(path, round, int(recorded.Load()), attr.LogFullPolicy == PolicyLoop)
	p.read += len(there)
	for n := given; n < synced; n++ {
		tracetest.Check(there[n], "round %d: event %d is gone, of %d that were synced", round, n, synced)
	}
	if len(there) > synced {
		p.more++
	}
	tracetest.Check(unix.Unmount(p.mnt, 0) == nil, "umount: %v", err)
}

// events reads the rest of a log and returns the events in it.
func (p *powerLoss) events(path string, round, recorded int, wraps bool) map[int]bool {
	there, end := map[int]bool{}, 0
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		p.gone++
		return there
	}
	tracetest.Check(err == nil, "open: %v", err)
	defer f.Close()
	r, err := NewReader(f)
	if err != nil {
		st, _ := f.Stat()
		b, _ := io.ReadAll(io.LimitReader(f, 4096))
		tracetest.Check(len(bytes.Trim(b, "\x00")) == 0, "round %d: NewReader of %d bytes: %v", round, st.Size(), err)
		p.gone++
		return there
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		tracetest.Check(err == nil, "Next: %v", err)
		if !rec.ID.User() {
			continue
		}
		tracetest.Check(len(rec.Data) >= 8, "round %d: an event of %d bytes", round, len(rec.Data))
		n := int(binary.LittleEndian.Uint32(rec.Data))
		if int(binary.LittleEndian.Uint32(rec.Data[4:])) == round-1 && len(there) == 0 {
			p.gone++ // its removal did not reach the device
			return there
		}
		tracetest.Check(bytes.Equal(rec.Data, p.data(round, n)) && n < recorded, "round %d: event %d of %d is %q", round, n, recorded, rec.Data)
		tracetest.Check(n == end || wraps && n > end, "round %d: event %d where %d should be", round, n, end)
		there[n] = true
		end = n + 1
	}
	state, err := r.State()
	tracetest.Check(state == LogUnfinished || state == LogDamaged && err != nil, "round %d: %v, %v", round, state, err)
	return there
}
