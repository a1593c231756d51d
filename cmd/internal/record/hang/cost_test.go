//go:build linux

package hang_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// spent returns the processor time of this process.
func spent() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Look costs in proportion to the tree: also where many threads wait for many.
func TestCost(t *testing.T) {
	few, many := tracetest.Scale(100, 1000, 1000), tracetest.Scale(300, 1000, 1000)
	for _, tt := range []struct {
		name string
		n    int
		code string
		most time.Duration // of processor time, for n
		wrap []string
	}{
		{"processes", few, `
for i in range(N // 2):
    r, w = os.pipe(); keeps(1000, w); os.close(w)
    if not os.fork(): os.read(r, 1)
    os.close(r)`, time.Duration(few) * time.Millisecond, nil},
		{"readers of one pipe", many, `
r, w = os.pipe()
for i in range(N):
    if not os.fork(): os.read(r, 1)`, time.Duration(many) * time.Millisecond, nil},
		{"waiters for one lock", many, `
f = os.open("l", os.O_RDWR | os.O_CREAT); fcntl.flock(f, fcntl.LOCK_EX)
for i in range(N):
    if not os.fork(): fcntl.flock(os.open("l", os.O_RDWR), fcntl.LOCK_EX)`, time.Duration(many) * time.Millisecond, nil},
		{"threads", many, `
threading.stack_size(65536)
l = threading.Lock(); l.acquire()
for i in range(N): threading.Thread(target=l.acquire).start()`, time.Duration(many) * time.Millisecond, nil},
		{"threads with a pipe each", many, `
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
threading.stack_size(65536)
for i in range(N): threading.Thread(target=os.read, args=(os.pipe()[0], 1)).start()`, time.Duration(many) * time.Millisecond, nil},
		{"threads in a namespace of process ids", many, `
threading.stack_size(65536)
m = (ctypes.c_uint32 * 10)(); libc.pthread_mutex_lock(m)
for i in range(N): threading.Thread(target=libc.pthread_mutex_lock, args=(m,)).start()`, time.Duration(many) * time.Millisecond, []string{"unshare", "-Urpf"}},
		{"connections", many, `
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
s = socket.create_server(("127.0.0.1", 0), backlog=1000); q = select.epoll(); all = []
for i in range(N):
    c = socket.create_connection(s.getsockname()); a, _ = s.accept(); all += [c, a]
    q.register(a, select.EPOLLIN)
open("ready", "w")
q.poll()`, time.Duration(many) * time.Millisecond, nil},
		{"descriptors", 19900, `
resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
for i in range(N): os.dup(0)
open("ready", "w")
r, w = os.pipe()
os.read(r, 1)`, 300 * time.Millisecond, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code := fmt.Sprintf("N = %d\n%s\nopen('ready', 'w')\ntime.sleep(1000)\n", tt.n, tt.code)
			cmd := start(t, code, tt.wrap...)
			for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(cmd.Dir + "/ready"); err == nil {
					break
				}
				if time.Now().After(end) {
					t.Fatal("not ready")
				}
			}
			for _, o := range []hang.Options{{}, hang.Options{}.WithoutAttach()} {
				best, wall := time.Hour, time.Hour
				for i := 0; i < 10 && best > tt.most; i++ {
					from, at := spent(), time.Now()
					r := hang.Look([]int{cmd.Process.Pid}, o)
					best, wall = min(best, spent()-from), min(wall, time.Since(at))
					if len(r.Threads) == 0 || r.Threads[0].Kind == hang.Runs || r.Threads[0].Kind == hang.Busy {
						best = time.Hour // it was not there yet
					}
				}
				t.Logf("%d: %v of a processor, %v in all", tt.n, best.Round(time.Millisecond), wall.Round(time.Millisecond))
				if best > tt.most {
					t.Errorf("%v of a processor, more than %v, %+v", best, tt.most, o)
				}
			}
		})
	}
}

// The stacks cost in proportion to their number, which is bounded.
func TestStackCost(t *testing.T) {
	cmd := start(t, `
for i in range(50):
    r, w = os.pipe(); keeps(1000, w); os.close(w)
    if not os.fork(): os.read(r, 1)
    os.close(r)
open('ready', 'w')
time.sleep(1000)`)
	tracetest.Wait(t, "the program is ready", func() bool { _, err := os.Stat(cmd.Dir + "/ready"); return err == nil })
	const most = 300 * time.Millisecond // of processor time
	best, wall, stacks := time.Hour, time.Hour, 0
	for i := 0; i < 10 && (best > most || stacks < 60); i++ {
		from, at := spent(), time.Now()
		r := hang.Look([]int{cmd.Process.Pid}, hang.Options{Stack: true})
		best, wall, stacks = min(best, spent()-from), min(wall, time.Since(at)), 0
		r.Name(time.Now().Add(time.Minute))
		for _, o := range r.Threads {
			if len(o.Stack) > 2 {
				stacks++
			}
		}
	}
	t.Logf("%d stacks: %v of a processor, %v in all", stacks, best.Round(time.Millisecond), wall.Round(time.Millisecond))
	if best > most || stacks < 60 || stacks > 64 {
		t.Errorf("%d stacks, %v of a processor, more than %v", stacks, best, most)
	}
}
