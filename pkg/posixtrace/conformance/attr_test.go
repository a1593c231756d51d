package conformance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"golang.org/x/sys/unix"
)

// attrOf makes a stream of these attributes, with a log if logged, and returns
// what it says of itself.
func attrOf(t *testing.T, a posixtrace.Attr, logged bool) posixtrace.StreamAttr {
	t.Helper()
	var s *posixtrace.Stream
	if logged {
		s, _ = newLoggedOf(t, 0, a)
	} else {
		s = newStreamOf(t, 0, a)
	}
	have, err := s.Attr()
	if err != nil {
		t.Fatal(err)
	}
	return have
}

var _ = conform("ATR-01/posix_trace_attr_init", func(t *testing.T) {
	var zero posixtrace.Attr
	if zero != (posixtrace.Attr{Inheritance: posixtrace.InheritNone, StreamFullPolicy: posixtrace.PolicyDefault, LogFullPolicy: posixtrace.PolicyDefault}) {
		t.Errorf("the zero value is %+v", zero)
	}
	a := attrOf(t, zero, true)
	if a.Name != "" || a.Inheritance != posixtrace.InheritNone || a.LogFullPolicy != posixtrace.PolicyLoop || a.StreamSize != posixtrace.DefaultLoggedStreamSize ||
		a.MaxDataSize != posixtrace.DefaultMaxDataSize || a.LogSize != posixtrace.DefaultLogSize || a.GenerationVersion == "" || a.ClockResolution <= 0 {
		t.Errorf("attributes %+v", a)
	}
})

var _ = conform("ATR-04", func(t *testing.T) {
	a := posixtrace.Attr{Name: "four", StreamFullPolicy: posixtrace.PolicyUntilFull, MaxDataSize: new(7)}
	one, err := posixtrace.Create(0, &a)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Shutdown()
	two, err := posixtrace.Create(0, &a)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Shutdown()
	if *a.MaxDataSize != 7 || a != (posixtrace.Attr{Name: "four", StreamFullPolicy: posixtrace.PolicyUntilFull, MaxDataSize: a.MaxDataSize}) {
		t.Errorf("Create changed its attributes: %+v", a)
	}
	a = posixtrace.Attr{Name: "other"}
	for _, s := range []*posixtrace.Stream{one, two} {
		if b, err := s.Attr(); err != nil || b.Name != "four" || b.StreamFullPolicy != posixtrace.PolicyUntilFull || b.MaxDataSize != 7 {
			t.Errorf("attributes %+v, %v", b, err)
		}
	}
	b, _ := one.Attr()
	b.Name = "changed"
	if c, _ := one.Attr(); c.Name != "four" {
		t.Errorf("the stream's name is %q", c.Name)
	}
})

var _ = conform("ATR-05", func(t *testing.T) {
	want := posixtrace.StreamAttr{
		Name: "five", Inheritance: posixtrace.InheritChildren, StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend,
		StreamSize: 100 << 10, MaxDataSize: 300, LogSize: 3 << 20,
	}
	s, path := newLoggedOf(t, 0, want.Attr())
	check := func(what string, a posixtrace.StreamAttr, err error) {
		t.Helper()
		if err != nil || a.GenerationVersion == "" || a.CreateTime.IsZero() || a.ClockResolution <= 0 {
			t.Errorf("%s: %+v, %v", what, a, err)
		}
		a.GenerationVersion, a.CreateTime, a.ClockResolution = "", time.Time{}, 0
		if a != want {
			t.Errorf("%s: %+v, want %+v", what, a, want)
		}
	}
	a, err := s.Attr()
	check("stream", a, err)
	s.Shutdown()
	b, err := openLogAt(t, path).Attr()
	check("log", b, err)
	if b.GenerationVersion != a.GenerationVersion || !b.CreateTime.Equal(a.CreateTime) || b.ClockResolution != a.ClockResolution {
		t.Errorf("the log has %+v, the stream had %+v", b, a)
	}
})

var _ = conform("ATR-06/posix_trace_attr_getgenversion", func(t *testing.T) {
	a := attrOf(t, posixtrace.Attr{}, false)
	if v := a.GenerationVersion; !strings.HasPrefix(v, "posixtrace ") || len(v) >= posixtrace.NameMax {
		t.Errorf("generation version %q", v)
	}
})

var _ = conform("ATR-07/posix_trace_attr_getname", func(t *testing.T) {
	for _, name := range []string{"", "x", "a name with spaces", "\xff\x00bytes", "größe"} {
		if a := attrOf(t, posixtrace.Attr{Name: name}, false); a.Name != name {
			t.Errorf("name %q, want %q", a.Name, name)
		}
	}
})

var _ = conform("ATR-08/posix_trace_attr_setname", func(t *testing.T) {
	x := strings.Repeat("x", 300)
	for _, r := range []struct{ name, want string }{
		{x[:253], x[:253]},
		{x[:posixtrace.NameMax-1], x[:posixtrace.NameMax-1]},
		{x[:posixtrace.NameMax], x[:posixtrace.NameMax]},
		{x[:posixtrace.NameMax+1], x[:posixtrace.NameMax-1]},
		{x, x[:posixtrace.NameMax-1]},
		// Truncation does not split characters of 2, 3 and 4 bytes, at the cut or across it.
		{x[:252] + "éé", x[:252] + "é"},
		{x[:253] + "ééé", x[:253]},
		{x[:252] + "€€", x[:252]},
		{x[:251] + "€€", x[:251] + "€"},
		{x[:251] + "😀😀", x[:251]},
		{x[:250] + "😀😀", x[:250] + "😀"},
		{x[:253] + "é", x[:253] + "é"}, // fits
	} {
		a := attrOf(t, posixtrace.Attr{Name: r.name}, false)
		if a.Name != r.want || !utf8.ValidString(a.Name) {
			t.Errorf("a name of %d bytes, ending in %q, became one of %d bytes, want %d", len(r.name), r.name[250:], len(a.Name), len(r.want))
		}
	}
	s, path := newLoggedOf(t, 0, posixtrace.Attr{Name: x})
	s.Shutdown()
	if a, err := openLogAt(t, path).Attr(); err != nil || a.Name != x[:posixtrace.NameMax-1] {
		t.Errorf("the log's name has %d bytes, %v", len(a.Name), err)
	}
})

var _ = conform("ATR-09", func(t *testing.T) {
	// No buffer is given, so there is none to be too small for the longest name.
	name := strings.Repeat("n", posixtrace.NameMax)
	s, path := newLoggedOf(t, 0, posixtrace.Attr{Name: name})
	if a, err := s.Attr(); a.Name != name || err != nil {
		t.Errorf("%d bytes, %v", len(a.Name), err)
	}
	s.Shutdown()
	if a, err := openLogAt(t, path).Attr(); a.Name != name || err != nil {
		t.Errorf("%d bytes, %v", len(a.Name), err)
	}
})

var _ = conform("ATR-10/posix_trace_attr_getcreatetime", func(t *testing.T) {
	before := time.Now().Round(0)
	b := attrOf(t, posixtrace.Attr{}, false)
	if b.CreateTime.Before(before) || b.CreateTime.After(time.Now()) {
		t.Errorf("CreateTime = %v, created after %v", b.CreateTime, before)
	}
	// The creation time does not pass to a stream made with the same attributes.
	if c := attrOf(t, b.Attr(), false); !c.CreateTime.After(b.CreateTime) {
		t.Errorf("created at %v, after %v", c.CreateTime, b.CreateTime)
	}
})

// The resolution is that of the stream's clock: times of events are no finer, and not much
// coarser.
var _ = conform("ATR-11/posix_trace_attr_getclockres", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{StreamSize: 1 << 20})
	a, err := s.Attr()
	if err != nil {
		t.Fatal(err)
	}
	var ts unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	if res := time.Duration(ts.Nano()); a.ClockResolution <= 0 || a.ClockResolution > res || !sys.TrustTicks() && a.ClockResolution != res {
		t.Errorf("resolution %v, the kernel's clock has %v", a.ClockResolution, res)
	}
	recordUnnamed(2000)
	last, odd := int64(0), false
	for {
		ev, _, err := s.TryNext(nil)
		if err != nil {
			break
		}
		if d := ev.UnixNano - last; last != 0 && d%int64(a.ClockResolution) != 0 {
			t.Fatalf("two events %d ns apart, the resolution is %v", d, a.ClockResolution)
		}
		odd = odd || ev.UnixNano%10 != 0
		last = ev.UnixNano
	}
	if !odd {
		t.Error("no event at an odd time: the resolution is coarser than it says")
	}
})

var _ = conform("ATR-12/posix_trace_attr_setinherited/EINVAL", func(t *testing.T) {
	if (posixtrace.Attr{}).Inheritance != posixtrace.InheritNone {
		t.Error("the default is not InheritNone")
	}
	for _, i := range []posixtrace.Inheritance{posixtrace.InheritNone, posixtrace.InheritChildren} {
		if a := attrOf(t, posixtrace.Attr{Inheritance: i}, false); a.Inheritance != i {
			t.Errorf("%v became %v", i, a.Inheritance)
		}
	}
	for _, i := range []posixtrace.Inheritance{2, 3, 128, 255} {
		_, err := posixtrace.Create(0, &posixtrace.Attr{Inheritance: i})
		wantErrno(t, err, syscall.EINVAL)
	}
})

// maxDataOf returns the max-data-size that attributes ask for.
func maxDataOf(a posixtrace.Attr) int {
	if a.MaxDataSize == nil {
		return posixtrace.DefaultMaxDataSize
	}
	return *a.MaxDataSize
}

// wantPolicies checks which policies a stream or log accepts.
func wantPolicies(t *testing.T, good []posixtrace.FullPolicy, attr func(posixtrace.FullPolicy) posixtrace.Attr, get func(posixtrace.StreamAttr) posixtrace.FullPolicy) {
	t.Helper()
	for p := posixtrace.PolicyLoop; p < 20; p++ {
		if slices.Contains(good, p) {
			if have := get(attrOf(t, attr(p), true)); have != p {
				t.Errorf("%v became %v", p, have)
			}
			continue
		}
		a := attr(p)
		_, err := posixtrace.Create(0, &a)
		wantErrno(t, err, syscall.EINVAL)
		_, err = posixtrace.CreateWithLog(0, &a, openFile(t, logPath(t), os.O_WRONLY))
		wantErrno(t, err, syscall.EINVAL)
	}
}

var _ = conform("ATR-13/posix_trace_attr_setstreamfullpolicy/EINVAL", func(t *testing.T) {
	wantPolicies(t, []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyFlush},
		func(p posixtrace.FullPolicy) posixtrace.Attr { return posixtrace.Attr{StreamFullPolicy: p} }, func(a posixtrace.StreamAttr) posixtrace.FullPolicy { return a.StreamFullPolicy })
})

var _ = conform("ATR-14/posix_trace_attr_setlogfullpolicy/EINVAL", func(t *testing.T) {
	if a := attrOf(t, posixtrace.Attr{}, true); a.LogFullPolicy != posixtrace.PolicyLoop {
		t.Errorf("the default is %v", a.LogFullPolicy)
	}
	wantPolicies(t, []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend},
		func(p posixtrace.FullPolicy) posixtrace.Attr { return posixtrace.Attr{LogFullPolicy: p} }, func(a posixtrace.StreamAttr) posixtrace.FullPolicy { return a.LogFullPolicy })
})

var _ = conform("ATR-15", func(t *testing.T) {
	var a posixtrace.Attr // serves both, and is not changed by the first
	if p := attrOf(t, a, false).StreamFullPolicy; p != posixtrace.PolicyLoop {
		t.Errorf("without log: %v", p)
	}
	if p := attrOf(t, a, true).StreamFullPolicy; p != posixtrace.PolicyFlush {
		t.Errorf("with log: %v", p)
	}
	if p := attrOf(t, a, false).StreamFullPolicy; p != posixtrace.PolicyLoop {
		t.Errorf("without log, after: %v", p)
	}
	if s := posixtrace.PolicyDefault.String(); s != "default" {
		t.Errorf("not set is called %q", s)
	}
})

var _ = conform("ATR-16", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		s, path := newLoggedOf(t, 0, posixtrace.Attr{StreamFullPolicy: p, StreamSize: 1, LogFullPolicy: posixtrace.PolicyAppend})
		if a, _ := s.Attr(); a.StreamFullPolicy != p {
			t.Errorf("%v became %v", p, a.StreamFullPolicy)
		}
		// No flush is automatic: a full stream loses events.
		s.Start()
		recordUnnamed(5000)
		if st, _ := s.Status(); st.StreamOverrunStatus != posixtrace.StatusOverrun || st.StreamFullStatus != posixtrace.StatusFull {
			t.Errorf("%v: status %+v", p, st)
		}
		s.Shutdown()
		if n := len(userData(t, openLogAt(t, path))); n == 0 || n >= 5000 {
			t.Errorf("%v: %d events in the log", p, n)
		}
	}
})

var _ = conform("ATR-17/posix_trace_attr_setstreamsize", func(t *testing.T) {
	if posixtrace.DefaultStreamSize != 64<<10 {
		t.Errorf("DefaultStreamSize = %d", posixtrace.DefaultStreamSize)
	}
	for _, data := range []*int{new(0), nil, new(8), new(20000)} {
		for _, size := range []int64{0, 1, 100, 5000, 64 << 10, 1 << 20} {
			a := posixtrace.Attr{StreamSize: size, MaxDataSize: data}
			have := attrOf(t, a, false).StreamSize
			least := int64(a.MaxSystemEventSize() + a.MaxUserEventSize(1<<30))
			want := max(size, least)
			if size == 0 {
				want = max(posixtrace.DefaultStreamSize, least)
			}
			if have != want {
				t.Errorf("size %d with %d bytes of data became %d, want %d", size, maxDataOf(a), have, want)
			}
			if again := attrOf(t, posixtrace.Attr{StreamSize: have, MaxDataSize: data}, false).StreamSize; again != have {
				t.Errorf("size %d became %d", have, again)
			}
		}
	}
	// It counts events, not the names of their types.
	s := running(t, 0, posixtrace.Attr{StreamSize: 1, StreamFullPolicy: posixtrace.PolicyUntilFull})
	for i := range 100 {
		if _, err := s.EventID(strings.Repeat("n", 250) + fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	posixtrace.Event(posixtrace.EventUnnamed, make([]byte, 1024))
	if n := len(drain(t, s)); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
})

var _ = conform("ATR-18/posix_trace_attr_setmaxdatasize", func(t *testing.T) {
	if posixtrace.DefaultMaxDataSize != 1024 {
		t.Errorf("DefaultMaxDataSize = %d", posixtrace.DefaultMaxDataSize)
	}
	for _, r := range []struct {
		set  *int
		kept int
	}{{nil, 1024}, {new(0), 0}, {new(1), 1}, {new(7), 7}, {new(1025), 1025}, {new(20000), 20000}} {
		s := running(t, 0, posixtrace.Attr{MaxDataSize: r.set})
		for _, n := range []int{0, r.kept, r.kept + 1} {
			posixtrace.Event(posixtrace.EventUnnamed, make([]byte, n))
		}
		want := []struct {
			n   int
			cut posixtrace.Truncation
		}{{0, posixtrace.TruncationNone}, {r.kept, posixtrace.TruncationNone}, {r.kept, posixtrace.TruncationRecord}}
		buf := make([]byte, 1<<16)
		for i := 0; i < len(want); {
			ev, n, err := s.TryNext(buf)
			if err != nil {
				t.Fatal(err)
			}
			if !ev.ID.User() {
				continue
			}
			if n != want[i].n || ev.Truncation != want[i].cut {
				t.Errorf("max-data-size %d: event %d has %d bytes, %v, want %v", r.set, i, n, ev.Truncation, want[i])
			}
			i++
		}
		s.Shutdown()
	}
})

// The data of POSIX's system events is never truncated; that of our own system events is.
var _ = conform("ATR-19", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{MaxDataSize: new(0)})
	var old, set posixtrace.EventSet
	old.Add(4095) // both sets at their greatest
	set.Fill(posixtrace.FillAll)
	set.Del(posixtrace.EventFilter)
	set.Del(posixtrace.EventStop)
	set.Del(posixtrace.EventOutputStdout)
	if err := s.SetFilter(old, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.SetFilter(set, posixtrace.FilterSet)
	rec, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if !rec.Record(posixtrace.EventInfo{ID: posixtrace.EventOutputStdout}, []byte("line")) {
		t.Error("not recorded")
	}
	s.Stop()
	buf := make([]byte, 4096)
	seen := ""
	for {
		ev, n, err := s.TryNext(buf)
		if err != nil {
			break
		}
		name, _ := s.EventName(ev.ID)
		seen += fmt.Sprintf("%s %v;", name, ev.Truncation)
		switch ev.ID {
		case posixtrace.EventStart:
			if f, err := posixtrace.DecodeSet(buf[:n]); f != old || err != nil {
				t.Errorf("START: %v", err)
			}
		case posixtrace.EventFilter:
			if o, f, err := posixtrace.DecodeFilter(buf[:n]); o != old || f != set || err != nil {
				t.Errorf("FILTER: %v", err)
			}
		case posixtrace.EventStop:
			if v, err := posixtrace.DecodeInt(buf[:n]); v != 0 || err != nil {
				t.Errorf("STOP: %v", err)
			}
		default:
			if n != 0 {
				t.Errorf("%d bytes", n)
			}
		}
	}
	if want := "posix_trace_start none;posix_trace_filter none;output.stdout record;posix_trace_stop none;"; seen != want {
		t.Errorf("events %s, want %s", seen, want)
	}
})

var _ = conform("ATR-20/posix_trace_attr_setlogsize", func(t *testing.T) {
	if posixtrace.DefaultLogSize != 1<<20 {
		t.Errorf("DefaultLogSize = %d", posixtrace.DefaultLogSize)
	}
	if a := attrOf(t, posixtrace.Attr{LogSize: 2 << 20}, true); a.LogSize != 2<<20 {
		t.Errorf("2 MiB became %d", a.LogSize)
	}
	// The log holds one full stream, whatever size was asked for.
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		for _, size := range []int64{1, 100 << 10} {
			s, path := newLoggedOf(t, 0, posixtrace.Attr{LogSize: 1, LogFullPolicy: p, StreamSize: size, StreamFullPolicy: posixtrace.PolicyUntilFull, MaxDataSize: new(100)})
			a, _ := s.Attr()
			if a.LogSize < a.StreamSize {
				t.Errorf("%v: a log of %d bytes for a stream of %d", p, a.LogSize, a.StreamSize)
			}
			s.Start()
			want := numberStrings(int(a.StreamSize-int64(a.MaxSystemEventSize())) / a.MaxUserEventSize(100))
			for i, n := range want {
				want[i] = n + strings.Repeat(".", 100-len(n))
				posixtrace.Event(posixtrace.EventUnnamed, []byte(want[i]))
			}
			if err := s.Shutdown(); err != nil {
				t.Fatal(err)
			}
			if data := userData(t, openLogAt(t, path)); !slices.Equal(data, want) {
				t.Errorf("%v: %d of %d events of a full stream of %d bytes are in its log", p, len(data), len(want), a.StreamSize)
			}
		}
	}
})

var _ = conform("ATR-21", func(t *testing.T) {
	for _, r := range []struct {
		p    posixtrace.FullPolicy
		full bool
	}{{posixtrace.PolicyAppend, false}, {posixtrace.PolicyUntilFull, true}, {posixtrace.PolicyLoop, true}} {
		s, path := newLoggedOf(t, 0, posixtrace.Attr{LogFullPolicy: r.p, LogSize: 1, StreamSize: 1, StreamFullPolicy: posixtrace.PolicyUntilFull, MaxDataSize: new(500)})
		s.Start()
		n := 0
		for range 100 {
			for range 4 {
				posixtrace.Event(posixtrace.EventUnnamed, fmt.Appendf(nil, "%-500d", n))
				n++
			}
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		s.Shutdown()
		have := len(userData(t, openLogAt(t, path)))
		if r.full && have > n/2 || !r.full && have != n {
			t.Errorf("%v: %d of %d events", r.p, have, n)
		}
	}
})

var _ = conform("ATR-22/posix_trace_attr_getmaxusereventsize", func(t *testing.T) {
	a := posixtrace.Attr{MaxDataSize: new(100)}
	last := 0
	for n := range 300 {
		size := a.MaxUserEventSize(n)
		if size < n && n <= 100 || size < last {
			t.Errorf("%d bytes of data need %d, one less %d", n, size, last)
		}
		if n > 100 && size != a.MaxUserEventSize(100) {
			t.Errorf("%d bytes of data need %d, 100 that are kept need %d", n, size, a.MaxUserEventSize(100))
		}
		last = size
	}
	none := posixtrace.Attr{MaxDataSize: new(0)}
	if none.MaxUserEventSize(1000) != none.MaxUserEventSize(0) || none.MaxUserEventSize(0) <= 0 {
		t.Errorf("without data %d and %d", none.MaxUserEventSize(1000), none.MaxUserEventSize(0))
	}
	if big := (&posixtrace.Attr{MaxDataSize: new(1 << 40)}); big.MaxUserEventSize(1<<40) < big.MaxUserEventSize(1000) || big.MaxUserEventSize(-1) <= 0 {
		t.Error("sizes out of range")
	}
	// The size suffices for that many events.
	a = posixtrace.Attr{MaxDataSize: new(100), StreamFullPolicy: posixtrace.PolicyUntilFull}
	a.StreamSize = int64(a.MaxSystemEventSize() + 200*a.MaxUserEventSize(37))
	s := running(t, 0, a)
	for range 200 {
		posixtrace.Event(posixtrace.EventUnnamed, make([]byte, 37))
	}
	if n := len(drain(t, s)); n != 200 {
		t.Errorf("%d events of 200", n)
	}
})

var _ = conform("ATR-23/posix_trace_attr_getmaxsystemeventsize", func(t *testing.T) {
	var full posixtrace.EventSet
	full.Fill(posixtrace.FillAll)
	const sets = 2 * (4096 / 8) // FILTER: two sets of all types
	for _, data := range []*int{new(0), nil, new(8), new(5000)} {
		a := posixtrace.Attr{MaxDataSize: data}
		size := a.MaxSystemEventSize()
		if size < sets || size < a.MaxUserEventSize(1<<20) { // our own system events carry as much as user events
			t.Errorf("max-data-size %d: a system event needs %d", maxDataOf(a), size)
		}
	}
	// FILTER events fit at that price.
	a := posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, MaxDataSize: new(0)}
	a.StreamSize = int64(41 * a.MaxSystemEventSize())
	full.Del(posixtrace.EventFilter)
	s := running(t, 0, a)
	for range 40 {
		s.SetFilter(full, posixtrace.FilterSet)
	}
	n := 0
	for {
		ev, _, err := s.TryNext(nil)
		if err != nil {
			break
		}
		if ev.ID == posixtrace.EventFilter {
			n++
		}
	}
	if st, _ := s.Status(); n != 40 || st.StreamOverrunStatus != posixtrace.StatusNoOverrun {
		t.Errorf("%d FILTER events of 40, %+v", n, st)
	}
})

// A stream records all events whose maximum sizes add up to no more than the stream-min-size, for
// any mix of threads, types and sizes.
var _ = conform("ATR-24", func(t *testing.T) {
	ids := []posixtrace.EventID{posixtrace.EventUnnamed, eventID(t, "atr.a"), eventID(t, "atr.b")}
	for _, size := range []int64{1, 20 << 10, 64 << 10, 300 << 10} {
		for _, data := range []int{0, 1, 100, 1024, 5000} {
			for _, threads := range []int{1, 3, 16} {
				a := posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, StreamSize: size, MaxDataSize: &data}
				s := running(t, 0, a)
				b, _ := s.Attr()
				budget := b.StreamSize - int64(a.MaxSystemEventSize())
				most := data
				next := make(chan []byte)
				want := 0
				done := make(chan bool)
				for k := range threads {
					go func() {
						for d := range next {
							posixtrace.Event(ids[(k+len(d))%3], d)
						}
						done <- true
					}()
				}
				for n := 0; ; n = (n*7 + 13) % (most + 1) {
					if budget -= int64(a.MaxUserEventSize(n)); budget < 0 {
						break
					}
					next <- make([]byte, n)
					want++
				}
				close(next)
				for range threads {
					<-done
				}
				have := len(drain(t, s))
				st, err := s.Status()
				if have != want || st.StreamOverrunStatus != posixtrace.StatusNoOverrun || st.Lost != 0 || err != nil {
					t.Errorf("size %d, data %d, %d threads: %d of %d events, %+v, %v", size, data, threads, have, want, st, err)
				}
				s.Shutdown()
			}
		}
	}
})

// The setters are the fields of Attr; Create reports invalid ones.
var _ = conform("ATR-25/EINVAL", func(t *testing.T) {
	for _, a := range invalidAttrs {
		s, err := posixtrace.Create(0, &a)
		wantErrno(t, err, syscall.EINVAL)
		if s != nil {
			t.Errorf("%+v made a stream", a)
		}
	}
	s := newStreamOf(t, 0, posixtrace.Attr{})
	s.Shutdown()
	_, err := s.Attr()
	wantErrno(t, err, syscall.EINVAL)
})

var _ = conform("ATR-26", func(t *testing.T) {
	a := attrOf(t, posixtrace.Attr{StreamSize: 1, LogSize: 1, MaxDataSize: new(1 << 30)}, true)
	if a.MaxDataSize >= 1<<30 || a.StreamSize <= 1 || a.LogSize <= 1 {
		t.Fatalf("attributes %+v", a)
	}
	// The attributes report the sizes in use.
	s := running(t, 0, posixtrace.Attr{MaxDataSize: new(1 << 30)})
	b, err := s.Attr()
	if err != nil {
		t.Fatal(err)
	}
	posixtrace.Event(posixtrace.EventUnnamed, make([]byte, b.MaxDataSize))
	posixtrace.Event(posixtrace.EventUnnamed, make([]byte, b.MaxDataSize+1))
	buf := make([]byte, b.MaxDataSize+10)
	for _, want := range []posixtrace.Truncation{posixtrace.TruncationNone, posixtrace.TruncationRecord} {
		for {
			ev, n, err := s.TryNext(buf)
			if err != nil {
				t.Fatal(err)
			}
			if ev.ID.User() {
				if n != b.MaxDataSize || ev.Truncation != want {
					t.Errorf("%d bytes, %v, want %d, %v", n, ev.Truncation, b.MaxDataSize, want)
				}
				break
			}
		}
	}
	if again := attrOf(t, b.Attr(), false); again.StreamSize != b.StreamSize || again.MaxDataSize != b.MaxDataSize {
		t.Errorf("%+v became %+v", b, again)
	}
})

var _ = conform("ATR-27/ENOMEM,EINVAL", func(t *testing.T) {
	for _, size := range []int64{1 << 39, 1 << 41, 1 << 62, 1<<63 - 1} {
		_, err := posixtrace.Create(0, &posixtrace.Attr{StreamSize: size})
		wantErrno(t, err, syscall.ENOMEM)
		_, err = posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamSize: size}, openFile(t, logPath(t), os.O_WRONLY))
		wantErrno(t, err, syscall.ENOMEM)
	}
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		for _, size := range []int64{1 << 62, 1<<63 - 1} {
			_, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogSize: size, LogFullPolicy: p}, openFile(t, logPath(t), os.O_WRONLY))
			wantErrno(t, err, syscall.EINVAL)
		}
	}
	// A size that is not used does no harm.
	newLoggedOf(t, 0, posixtrace.Attr{LogSize: 1<<63 - 1, LogFullPolicy: posixtrace.PolicyAppend})
	newStreamOf(t, 0, posixtrace.Attr{LogSize: 1<<63 - 1})
})
