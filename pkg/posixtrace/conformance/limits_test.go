package conformance

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// newStreamOf is a stream on this process, not started, that ends with the test.
func newStreamOf(t *testing.T, pid int, attr posixtrace.Attr) *posixtrace.Stream {
	t.Helper()
	s, err := posixtrace.Create(pid, &attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	return s
}

// newLoggedOf is a stream with a log in a new file, not started.
func newLoggedOf(t *testing.T, pid int, attr posixtrace.Attr) (*posixtrace.Stream, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.trace")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := posixtrace.CreateWithLog(pid, &attr, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	return s, path
}

// openLogAt opens a finished log, which is closed with the test.
func openLogAt(t *testing.T, path string) *posixtrace.Log {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := posixtrace.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// duringSignals sends the process a signal all the time while f runs.
func duringSignals(t *testing.T, f func()) {
	t.Helper()
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGUSR1)
	defer signal.Stop(ch)
	end, ended := make(chan struct{}), make(chan struct{})
	var sent atomic.Int64
	go func() {
		defer close(ended)
		tasks, _ := os.ReadDir("/proc/self/task")
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			var tid int
			fmt.Sscan(tasks[i%len(tasks)].Name(), &tid)
			if syscall.Tgkill(os.Getpid(), tid, syscall.SIGUSR1) == nil {
				sent.Add(1)
			}
			time.Sleep(20 * time.Microsecond)
		}
	}()
	f()
	for sent.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	close(end)
	<-ended
}

var _ = conform("LIM-01", func(t *testing.T) {
	if posixtrace.POSIXVersion != 200809 {
		t.Errorf("Option = %d, want 200809", posixtrace.POSIXVersion)
	}
})

// Claiming all four options means that one stream can use all of them.
var _ = conform("LIM-02", func(t *testing.T) {
	s, path := newLoggedOf(t, 0, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	var set posixtrace.EventSet
	set.Add(eventID(t, "lim.two.out"))
	if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	posixtrace.Event(eventID(t, "lim.two.out"), nil)
	posixtrace.Event(eventID(t, "lim.two.in"), nil)
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	l := openLogAt(t, path)
	var names []string
	for ev, _, err := l.Next(nil); err == nil; ev, _, err = l.Next(nil) {
		if n, _ := l.EventName(ev.ID); !strings.HasPrefix(n, "posix_trace_flush") {
			names = append(names, n)
		}
	}
	if want := "[posix_trace_start lim.two.in posix_trace_stop]"; fmt.Sprint(names) != want {
		t.Errorf("log holds %v, want %v", names, want)
	}
	if a, _ := l.Attr(); a.Inheritance != posixtrace.InheritChildren {
		t.Error("not inherited")
	}
})

var _ = conform("LIM-04/posix_trace_eventid_open/ENAMETOOLONG", func(t *testing.T) {
	if posixtrace.EventNameMax != 255 {
		t.Errorf("EventNameMax = %d", posixtrace.EventNameMax)
	}
	s := newStreamOf(t, 0, posixtrace.Attr{})
	long := strings.Repeat("n", posixtrace.EventNameMax)
	if n, err := s.EventName(eventID(t, long)); n != long || err != nil {
		t.Errorf("EventName = %q, %v", n, err)
	}
	_, err := posixtrace.OpenEventID(long + "n")
	wantErrno(t, err, syscall.ENAMETOOLONG)
})

var _ = conform("LIM-05", func(t *testing.T) {
	if posixtrace.NameMax != 255 {
		t.Errorf("NameMax = %d", posixtrace.NameMax)
	}
	name := strings.Repeat("s", posixtrace.NameMax)
	a, err := newStreamOf(t, 0, posixtrace.Attr{Name: name}).Attr()
	if err != nil || a.Name != name {
		t.Errorf("Attr().Name = %q, %v", a.Name, err)
	}
	if len(a.GenerationVersion) > posixtrace.NameMax || a.GenerationVersion == "" {
		t.Errorf("generation version %q", a.GenerationVersion)
	}
})

var _ = conform("LIM-06", func(t *testing.T) {
	if posixtrace.SysMax != 1024 {
		t.Errorf("SysMax = %d", posixtrace.SysMax)
	}
	r := fillDirectory()
	if r.err != nil {
		t.Fatal(r.err)
	}
	if r.made != posixtrace.SysMax {
		t.Errorf("%d streams in one directory, want %d", r.made, posixtrace.SysMax)
	}
	if !r.elsewhere {
		t.Error("the streams of one directory count in another")
	}
})

// A process gets exactly UserEventMax-1 names of its own.
var _ = conform("LIM-07", func(t *testing.T) {
	if posixtrace.UserEventMax != 1024 {
		t.Errorf("UserEventMax = %d", posixtrace.UserEventMax)
	}
	c := tracetest.Start(t, "map")
	var own, unnamed int
	fmt.Sscan(c.Ask("fill lim.seven. %d", posixtrace.UserEventMax-1), &own, &unnamed)
	if own != posixtrace.UserEventMax-1 || unnamed != 0 {
		t.Errorf("%d names got %d ids, %d of them unnamed", posixtrace.UserEventMax-1, own, unnamed)
	}
	// Each process has its own limit.
	c = tracetest.Start(t, "map")
	fmt.Sscan(c.Ask("fill lim.seven.other. %d", posixtrace.UserEventMax-1), &own, &unnamed)
	if own != posixtrace.UserEventMax-1 || unnamed != 0 {
		t.Errorf("second process: %d ids, %d unnamed", own, unnamed)
	}
})

var _ = conform("LIM-08", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	var own, unnamed int
	fmt.Sscan(c.Ask("fill lim.eight. %d", posixtrace.UserEventMax+10), &own, &unnamed)
	if own != posixtrace.UserEventMax-1 || unnamed != 11 {
		t.Errorf("%d names: %d own ids and %d times the unnamed one, want %d and 11", posixtrace.UserEventMax+10, own, unnamed, posixtrace.UserEventMax-1)
	}
})

// The limits are constants of the language, known when a program is compiled;
// here they are used where only such a thing can stand.
const _ = uint(posixtrace.EventNameMax-30) + uint(posixtrace.NameMax-8) + uint(posixtrace.SysMax-8) + uint(posixtrace.UserEventMax-32)

var _ = conform("LIM-09", func(t *testing.T) {
	var a [posixtrace.EventNameMax]byte
	var b [posixtrace.NameMax]byte
	var c [posixtrace.SysMax]byte
	var d [posixtrace.UserEventMax]byte
	if len(a) < 30 || len(b) < 8 || len(c) < 8 || len(d) < 32 {
		t.Error("a limit is below its minimum")
	}
})

var _ = conform("LIM-10", func(t *testing.T) {
	families := map[string][]any{
		"policies":    {posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyFlush, posixtrace.PolicyAppend},
		"run":         {posixtrace.StatusRunning, posixtrace.StatusSuspended},
		"full":        {posixtrace.StatusFull, posixtrace.StatusNotFull},
		"overrun":     {posixtrace.StatusOverrun, posixtrace.StatusNoOverrun},
		"flush":       {posixtrace.StatusFlushing, posixtrace.StatusNotFlushing},
		"truncation":  {posixtrace.TruncationNone, posixtrace.TruncationRead, posixtrace.TruncationRecord},
		"inheritance": {posixtrace.InheritNone, posixtrace.InheritChildren},
		"sets":        {posixtrace.FillWOPID, posixtrace.FillSystem, posixtrace.FillAll},
		"events": {posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventOverflow, posixtrace.EventResume, posixtrace.EventFlushStart, posixtrace.EventFlushStop,
			posixtrace.EventFilter, posixtrace.EventError, posixtrace.EventUnnamed},
	}
	for name, list := range families {
		for i, v := range list {
			for _, w := range list[:i] {
				if v == w {
					t.Errorf("%s: two constants are %v", name, v)
				}
			}
		}
	}
})

var _ = conform("LIM-11", func(t *testing.T) {
	if posixtrace.EventError == 0 || !posixtrace.EventError.System() {
		t.Errorf("EventError = %d", posixtrace.EventError)
	}
	if posixtrace.FilterSet == posixtrace.FilterAdd || posixtrace.FilterSet == posixtrace.FilterSub || posixtrace.FilterAdd == posixtrace.FilterSub {
		t.Error("two ways to change a filter are one")
	}
})

var _ = conform("LIM-13", func(t *testing.T) {
	if posixtrace.StatusNoOverrun != 0 {
		t.Errorf("StatusNoOverrun = %d, want 0", posixtrace.StatusNoOverrun)
	}
	var zero posixtrace.Status
	if zero.StreamOverrunStatus != posixtrace.StatusNoOverrun || zero.LogOverrunStatus != posixtrace.StatusNoOverrun {
		t.Error("zero is not StatusNoOverrun")
	}
	// PolicyLoop and PolicyUntilFull serve streams and logs alike.
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		s, _ := newLoggedOf(t, 0, posixtrace.Attr{StreamFullPolicy: p, LogFullPolicy: p})
		if a, err := s.Attr(); err != nil || a.StreamFullPolicy != p || a.LogFullPolicy != p {
			t.Errorf("policies of the stream are %v and %v, want %v; %v", a.StreamFullPolicy, a.LogFullPolicy, p, err)
		}
	}
})

var _ = conform("LIM-14", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{})
	at := &s // a trace id is assigned, addressed and passed
	same := *at
	id := eventID(t, "lim.fourteen")
	other := id
	var set posixtrace.EventSet
	set.Add(other)
	copied := set
	set.Del(id)
	if !copied.Has(id) || set.Has(id) || copied == set {
		t.Error("an assigned set is not a copy")
	}
	byValue := func(s *posixtrace.Stream, set posixtrace.EventSet) error {
		return s.SetFilter(set, posixtrace.FilterSet)
	}
	if err := byValue(same, copied); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Filter(); err != nil || f != copied {
		t.Errorf("Filter = %v, %v", f, err)
	}
})

// A set holds no pointers: its bytes travel through the data of an event of
// another process.
var _ = conform("LIM-15", func(t *testing.T) {
	var pointers func(ty reflect.Type) bool
	pointers = func(ty reflect.Type) bool {
		switch ty.Kind() {
		case reflect.Struct:
			for i := range ty.NumField() {
				if pointers(ty.Field(i).Type) {
					return true
				}
			}
			return false
		case reflect.Array:
			return pointers(ty.Elem())
		case reflect.Uint8, reflect.Uint32, reflect.Uint64:
			return false
		}
		return true
	}
	if pointers(reflect.TypeFor[posixtrace.EventSet]()) {
		t.Fatal("EventSet holds a pointer")
	}
	c := tracetest.Start(t, "map")
	s := running(t, c.PID, posixtrace.Attr{})
	if l := c.Ask("set lim.fifteen 2 40 1000 4095"); l != "done" {
		t.Fatal(l)
	}
	buf := make([]byte, unsafe.Sizeof(posixtrace.EventSet{})+1)
	for {
		ev, n, err := s.TryNext(buf)
		if err != nil {
			t.Fatal(err)
		}
		if !ev.ID.User() {
			continue
		}
		var got, want posixtrace.EventSet
		for _, id := range []posixtrace.EventID{2, 40, 1000, 4095} {
			want.Add(id)
		}
		if n != int(unsafe.Sizeof(got)) {
			t.Fatalf("%d bytes", n)
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&got)), n), buf)
		if got != want {
			t.Error("the copied set differs")
		}
		return
	}
})

// Every call returns an error number, on a stream that is shut down EINVAL,
// except Event, which returns nothing.
var _ = conform("LIM-17", func(t *testing.T) {
	if n := reflect.TypeOf(posixtrace.Event).NumOut(); n != 0 {
		t.Errorf("Event has %d results", n)
	}
	s := newStreamOf(t, 0, posixtrace.Attr{})
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	callAllMethods(t, reflect.ValueOf(s), syscall.EINVAL)

	s, path := newLoggedOf(t, 0, posixtrace.Attr{})
	s.Shutdown()
	l := openLogAt(t, path)
	l.Close()
	callAllMethods(t, reflect.ValueOf(l), syscall.EINVAL)
})

// callAllMethods calls every method that returns an error with zero arguments.
func callAllMethods(t *testing.T, v reflect.Value, want syscall.Errno) {
	n := 0
	for i := range v.NumMethod() {
		name, ty := v.Type().Method(i).Name, v.Method(i).Type()
		if ty.NumOut() == 0 || ty.Out(ty.NumOut()-1) != reflect.TypeFor[error]() {
			if name != "All" { // its iterator yields the error
				t.Errorf("%s does not return an error", name)
			}
			continue
		}
		switch name {
		case "Adopt", "Handover": // extensions that look at their process first
			continue
		}
		var args []reflect.Value
		for j := range ty.NumIn() {
			if ty.IsVariadic() && j == ty.NumIn()-1 {
				break
			}
			if ty.In(j) == reflect.TypeFor[context.Context]() {
				args = append(args, reflect.ValueOf(context.Background()))
			} else {
				args = append(args, reflect.Zero(ty.In(j)))
			}
		}
		out := v.Method(i).Call(args)
		err, _ := out[len(out)-1].Interface().(error)
		t.Run(name, func(t *testing.T) { wantErrno(t, err, want) })
		n++
	}
	if n < 8 {
		t.Errorf("only %d methods were called", n)
	}
}

// All calls concurrently on one stream, from several goroutines; the race detector
// watches. Event does nothing that a signal handler could not: it allocates
// nothing and waits for no lock (LIM-21).
var _ = conform("LIM-18", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{})
	id := eventID(t, "lim.eighteen")
	calls := []func() error{
		s.Start, s.Stop, s.Clear, s.RewindEventTypes,
		func() error { _, err := s.Status(); return err },
		func() error { _, err := s.Attr(); return err },
		func() error { _, err := s.Filter(); return err },
		func() error { return s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet) },
		func() error { _, err := s.EventID("lim.eighteen"); return err },
		func() error { _, err := s.EventName(id); return err },
		func() error { _, _, err := s.NextEventType(); return err },
		func() error { _, err := posixtrace.OpenEventID("lim.eighteen"); return err },
		func() error {
			if _, _, err := s.TryNext(make([]byte, 8)); err != posixtrace.ErrUnavailable {
				return err
			}
			return nil
		},
		func() error { posixtrace.Event(id, []byte("data")); return nil },
	}
	var wg sync.WaitGroup
	for _, call := range calls {
		for range 2 {
			wg.Go(func() {
				for range 20 {
					if err := call(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 16)
	posixtrace.Event(id, data)
	if n := testing.AllocsPerRun(100, func() { posixtrace.Event(id, data) }); n != 0 {
		t.Errorf("Event allocates %v times", n)
	}
})

// Only calls that wait or do input and output can be cancelled: they are the
// ones with a context.
var _ = conform("LIM-19", func(t *testing.T) {
	may := map[string]bool{"Next": true, "TimedNext": true, "Clear": true, "Close": true, "Flush": true,
		"Rewind": true, "Shutdown": true, "Attr": true, "Status": true, "Filter": true, "SetFilter": true,
		"NextEventType": true, "RewindEventTypes": true}
	found := false
	for _, v := range []reflect.Type{reflect.TypeFor[*posixtrace.Stream](), reflect.TypeFor[*posixtrace.Log](), reflect.TypeFor[*posixtrace.EventSet](), reflect.TypeFor[*posixtrace.Attr]()} {
		for i := range v.NumMethod() {
			m := v.Method(i)
			for j := range m.Type.NumIn() {
				if m.Type.In(j) == reflect.TypeFor[context.Context]() {
					found = true
					if !may[m.Name] {
						t.Errorf("%v.%s can be cancelled", v, m.Name)
					}
				}
			}
		}
	}
	if !found {
		t.Error("no call can be cancelled")
	}
})

// Signals interrupt none of the calls that know no EINTR.
var _ = conform("LIM-20", func(t *testing.T) {
	duringSignals(t, func() {
		for range 20 {
			s, path := newLoggedOf(t, 0, posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend})
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			posixtrace.Event(posixtrace.EventUnnamed, make([]byte, 1000))
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Status(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Attr(); err != nil {
				t.Fatal(err)
			}
			if err := s.Clear(); err != nil {
				t.Fatal(err)
			}
			if err := s.Shutdown(); err != nil {
				t.Fatal(err)
			}
			l := openLogAt(t, path)
			if err := l.Rewind(); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			s = running(t, 0, posixtrace.Attr{})
			for range 3 {
				if _, _, err := s.TryNext(nil); err != nil && err != posixtrace.ErrUnavailable {
					t.Fatal(err)
				}
			}
			s.Shutdown()
		}
	})
})

// A trace point waits for no lock: another connection holds those of the stream and of the
// trace directory here, and the stream takes the events. TestTracePointTakesNoMutex holds
// those inside of the process.
var _ = conform("LIM-21", func(t *testing.T) {
	id := eventID(t, "lim.twentyone")
	if n := testing.AllocsPerRun(100, func() { posixtrace.Event(id, nil) }); n != 0 {
		t.Errorf("an untraced trace point allocates %v times", n)
	}
	// One test of a word, with the race detector.
	tracetest.AtMost(t, float64(200*time.Nanosecond), func() float64 {
		best := time.Hour
		for range 20 {
			begin := time.Now()
			for range 1000 {
				posixtrace.Event(id, nil)
			}
			best = min(best, time.Since(begin)/1000)
		}
		return float64(best)
	})

	s := running(t, 0, posixtrace.Attr{})
	posixtrace.Event(id, nil) // connects
	info, err := s.Info()
	tracetest.OK(t, "Info", err)
	f, err := os.OpenFile(info.Path, os.O_RDWR, 0)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	tracetest.OK(t, "Flock", sys.Flock(f, true, true))
	d, err := registry.Open()
	tracetest.OK(t, "Open", err)
	unlock, err := d.Lock()
	tracetest.OK(t, "Lock", err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				posixtrace.Event(id, nil)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("a trace point waits for a lock")
	}
	unlock()
	sys.Funlock(f)
	<-done
	if n := len(drain(t, s)); n != 101 {
		t.Errorf("%d events, want 101", n)
	}
})

// Calls check the trace id before the values, and the values before the state.
var _ = conform("LIM-22/EBADF,EINVAL", func(t *testing.T) {
	long := strings.Repeat("n", posixtrace.EventNameMax+1)
	s := newStreamOf(t, 0, posixtrace.Attr{})
	_, err := s.EventID(long)
	wantErrno(t, err, syscall.ENAMETOOLONG)
	s.Shutdown()
	_, err = s.EventID(long)
	wantErrno(t, err, syscall.EINVAL)
	_, err = posixtrace.CreateWithLog(0, nil, nil)
	wantErrno(t, err, syscall.EBADF)
	_, err = posixtrace.Open(nil)
	wantErrno(t, err, syscall.EBADF)
	// An invalid argument is reported before a limit.
	c := tracetest.Start(t, "target")
	c.Line()
	for range posixtrace.StreamsMax {
		newStreamOf(t, c.PID, posixtrace.Attr{StreamSize: 1})
	}
	_, err = posixtrace.Create(c.PID, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyAppend})
	wantErrno(t, err, syscall.EINVAL)
	_, err = posixtrace.Create(c.PID, nil)
	wantErrno(t, err, syscall.EAGAIN)
})
