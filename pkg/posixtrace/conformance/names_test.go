package conformance

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func init() {
	// map: performs the command in each line of standard input and answers with a line.
	tracetest.Helpers["map"] = func(args []string) {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			f := strings.Fields(in.Text())
			num := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
			switch f[0] {
			case "open": // NAME: its id
				id, err := posixtrace.OpenEventID(strings.Join(f[1:], " "))
				if err != nil {
					fmt.Println("error", err)
					continue
				}
				fmt.Println(id)
			case "fill": // PREFIX N: how many ids of their own N names got, and how many the unnamed one
				ids := map[posixtrace.EventID]bool{}
				unnamed := 0
				for i := range num(2) {
					id, err := posixtrace.OpenEventID(f[1] + strconv.Itoa(i))
					if err != nil || !id.User() {
						fmt.Println("error", id, err)
						os.Exit(1)
					}
					if id == posixtrace.EventUnnamed {
						unnamed++
					} else {
						ids[id] = true
					}
				}
				fmt.Println(len(ids), unnamed)
			case "event": // ID DATA
				posixtrace.Event(posixtrace.EventID(num(1)), []byte(strings.Join(f[2:], " ")))
				fmt.Println("done")
			case "times": // ID N: N events
				for i := range num(2) {
					posixtrace.Event(posixtrace.EventID(num(1)), []byte(strconv.Itoa(i)))
				}
				fmt.Println("done")
			case "set": // NAME IDS...: an event whose data is a set, byte for byte
				id, err := posixtrace.OpenEventID(f[1])
				var set posixtrace.EventSet
				for i := range f[2:] {
					set.Add(posixtrace.EventID(num(i + 2)))
				}
				if err == nil {
					posixtrace.Event(id, unsafe.Slice((*byte)(unsafe.Pointer(&set)), unsafe.Sizeof(set)))
				}
				fmt.Println("done")
			}
		}
	}
}

func openIn(c *tracetest.Child, name string) posixtrace.EventID {
	c.T.Helper()
	l := c.Ask("open %s", name)
	n, err := strconv.Atoi(l)
	if err != nil {
		c.T.Fatalf("open %s: %s", name, l)
	}
	return posixtrace.EventID(n)
}

// typeLister is a stream or a log.
type typeLister interface {
	NextEventType() (posixtrace.EventID, bool, error)
	RewindEventTypes() error
	EventName(posixtrace.EventID) (string, error)
}

// listTypes reads the type list on from where it is.
func listTypes(t *testing.T, s typeLister) (names []string) {
	t.Helper()
	for {
		id, ok, err := s.NextEventType()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			if id != 0 {
				t.Errorf("the end of the list stores %d", id)
			}
			return names
		}
		n, err := s.EventName(id)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, n)
	}
}

// predefinedNames are the names that the standard gives.
var predefinedNames = map[posixtrace.EventID]string{
	posixtrace.EventError: "posix_trace_error", posixtrace.EventStart: "posix_trace_start", posixtrace.EventStop: "posix_trace_stop",
	posixtrace.EventFilter: "posix_trace_filter", posixtrace.EventOverflow: "posix_trace_overflow", posixtrace.EventResume: "posix_trace_resume",
	posixtrace.EventFlushStart: "posix_trace_flush_start", posixtrace.EventFlushStop: "posix_trace_flush_stop",
	posixtrace.EventUnnamed: "posix_trace_unnamed_userevent",
}

var _ = conform("MAP-01/posix_trace_eventid_open", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	s := running(t, c.PID, posixtrace.Attr{})
	seen := map[posixtrace.EventID]string{}
	for i := range 50 {
		name := fmt.Sprintf("map.one.%d", i)
		id := openIn(c, name)
		if !id.User() || id == posixtrace.EventUnnamed || seen[id] != "" {
			t.Fatalf("%s has id %d, which is %q", name, id, seen[id])
		}
		seen[id] = name
		if n, err := s.EventName(id); n != name || err != nil {
			t.Errorf("EventName(%d) = %q, %v", id, n, err)
		}
	}
})

var _ = conform("MAP-02/posix_trace_eventid_open", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	a, b := openIn(c, "map.two.a"), openIn(c, "map.two.b")
	if a == b || openIn(c, "map.two.a") != a || openIn(c, "map.two.b") != b {
		t.Error("a name does not keep its id")
	}
	// Within one process, from many goroutines at once.
	ids := make([]posixtrace.EventID, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i], _ = posixtrace.OpenEventID("map.two.together") })
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || id == 0 {
			t.Fatalf("one name has ids %v", ids)
		}
	}
	// And in a family: a child of this process, traced with it.
	s := running(t, 0, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	child := tracetest.Start(t, "map")
	if id := openIn(child, "map.two.together"); id != ids[0] {
		t.Errorf("the child has id %d, its parent %d", id, ids[0])
	}
	if id, want := openIn(child, "map.two.child"), eventID(t, "map.two.child"); id != want {
		t.Errorf("the child has id %d, its parent %d", id, want)
	}
	s.Shutdown()
})

var _ = conform("MAP-03/posix_trace_eventid_open/ENAMETOOLONG", func(t *testing.T) {
	fits := strings.Repeat("é", posixtrace.EventNameMax/2) + "x" // 255 bytes
	if eventID(t, fits) == posixtrace.EventUnnamed {
		t.Error("no id of its own")
	}
	_, err := posixtrace.OpenEventID(strings.Repeat("é", posixtrace.EventNameMax/2+1)) // 256 bytes in 128 characters
	wantErrno(t, err, syscall.ENAMETOOLONG)
	s := newStreamOf(t, 0, posixtrace.Attr{})
	for id := range eventTypesOf(t, s) {
		if n, _ := s.EventName(id); len(n) > posixtrace.EventNameMax {
			t.Errorf("a name of %d bytes", len(n))
		}
	}
})

var _ = conform("MAP-04/posix_trace_eventid_open", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	first := openIn(c, "map.four.first")
	if l := c.Ask("fill map.four. %d", posixtrace.UserEventMax-2); l != fmt.Sprint(posixtrace.UserEventMax-2, 0) {
		t.Fatal(l)
	}
	last := openIn(c, fmt.Sprintf("map.four.%d", posixtrace.UserEventMax-3))
	for _, name := range []string{"map.four.more", "map.four.still.more"} {
		if id := openIn(c, name); id != posixtrace.EventUnnamed {
			t.Errorf("%s, past the limit, has id %d, want the unnamed one", name, id)
		}
	}
	if id := openIn(c, "map.four.first"); id != first {
		t.Errorf("past the limit the first name has id %d, want %d", id, first)
	}
	if id := openIn(c, fmt.Sprintf("map.four.%d", posixtrace.UserEventMax-3)); id != last || id == posixtrace.EventUnnamed {
		t.Errorf("past the limit the last name has id %d, want %d", id, last)
	}
	if id := openIn(c, "posix_trace_start"); id != posixtrace.EventStart {
		t.Errorf("past the limit posix_trace_start is %d", id)
	}
	s := running(t, c.PID, posixtrace.Attr{})
	c.Ask("event %d x", openIn(c, "map.four.more"))
	equal(t, drain(t, s), got{"posix_trace_unnamed_userevent", "x", c.PID})
})

var _ = conform("MAP-05/posix_trace_eventid_open", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	id := openIn(c, "map.five")
	for range 2 { // also in a stream after a stream
		s := running(t, c.PID, posixtrace.Attr{})
		if n, err := s.EventName(id); n != "map.five" || err != nil {
			t.Errorf("EventName = %q, %v", n, err)
		}
		if i, err := s.EventID("map.five"); i != id || err != nil {
			t.Errorf("EventID = %d, %v, want %d", i, err, id)
		}
		c.Ask("event %d y", id)
		equal(t, drain(t, s), got{"map.five", "y", c.PID})
		s.Shutdown()
	}
})

var _ = conform("MAP-06/posix_trace_eventid_open", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	s := running(t, c.PID, posixtrace.Attr{})
	ids := map[posixtrace.EventID]string{}
	for i := range 100 {
		name := fmt.Sprintf("map.six.%d", i)
		ids[openIn(c, name)] = name
	}
	if len(ids) != 100 {
		t.Errorf("100 names have %d ids", len(ids))
	}
	for id := range ids {
		c.Ask("event %d", id)
	}
	// Clearing, and the end of the process that registered them, change nothing.
	if err := s.Clear(); err != nil {
		t.Fatal(err)
	}
	c.In.Close()
	c.Cmd.Wait()
	for id, name := range ids {
		if n, err := s.EventName(id); n != name || err != nil {
			t.Fatalf("EventName(%d) = %q, %v, want %q", id, n, err, name)
		}
		if i, err := s.EventID(name); i != id || err != nil {
			t.Fatalf("EventID(%s) = %d, %v, want %d", name, i, err, id)
		}
	}
	if id, err := s.EventID("map.six.new"); err != nil || ids[id] != "" {
		t.Errorf("a new name has id %d of %q, %v", id, ids[id], err)
	}
})

var _ = conform("MAP-07/posix_trace_eventid_open", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{})
	seen := map[posixtrace.EventID]string{}
	// The last two look the same and are different bytes.
	for _, name := range []string{" ", "map.seven", "MAP.seven", "map.seven\x00", "map.seven\n", "\xff\xfe", "\u00e9", "e\u0301"} {
		id := eventID(t, name)
		if old, ok := seen[id]; ok {
			t.Errorf("%q and %q have one id", name, old)
		}
		seen[id] = name
		if n, err := s.EventName(id); n != name || err != nil {
			t.Errorf("EventName(%d) = %q, %v, want %q", id, n, err, name)
		}
	}
	// The empty name is valid, also in a log.
	c := tracetest.Start(t, "map")
	empty := openIn(c, "")
	if !empty.User() || empty == posixtrace.EventUnnamed || openIn(c, "") != empty {
		t.Errorf("the empty name has id %d", empty)
	}
	logged, path := newLoggedOf(t, c.PID, posixtrace.Attr{})
	if n, err := logged.EventName(empty); n != "" || err != nil {
		t.Errorf("EventName(%d) = %q, %v", empty, n, err)
	}
	logged.Shutdown()
	if n, err := openLogAt(t, path).EventName(empty); n != "" || err != nil {
		t.Errorf("EventName(%d) in the log = %q, %v", empty, n, err)
	}
	before := len(listTypes(t, s))
	for id, name := range predefinedNames {
		if got := eventID(t, name); got != id {
			t.Errorf("OpenEventID(%q) = %d, want %d", name, got, id)
		}
		if got, err := s.EventID(name); got != id || err != nil {
			t.Errorf("EventID(%q) = %d, %v, want %d", name, got, err, id)
		}
	}
	if more := listTypes(t, s); len(more) != 0 || before == 0 {
		t.Errorf("opening predefined names made %v", more)
	}
})

var _ = conform("MAP-08/posix_trace_trid_eventid_open", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	s := running(t, c.PID, posixtrace.Attr{})
	id, err := s.EventID("map.eight")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.EventID("map.eight"); again != id || err != nil {
		t.Errorf("EventID = %d, %v, want %d", again, err, id)
	}
	if got := openIn(c, "map.eight"); got != id {
		t.Errorf("the target has id %d, the controller %d", got, id)
	}
	theirs := openIn(c, "map.eight.target")
	if got, err := s.EventID("map.eight.target"); got != theirs || err != nil {
		t.Errorf("EventID = %d, %v, want %d", got, err, theirs)
	}
	c.Ask("event %d z", id)
	equal(t, drain(t, s), got{"map.eight", "z", c.PID})
})

// Names of the controller count against the target's limit: those registered
// before the target's first, and those after.
var _ = conform("MAP-09/posix_trace_trid_eventid_open/EINVAL,ENAMETOOLONG", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	s := running(t, c.PID, posixtrace.Attr{})
	name := func(i int) string { return fmt.Sprintf("map.nine.ctl.%d", i) }
	ids := map[posixtrace.EventID]bool{}
	open := func(from, to int) {
		for i := from; i < to; i++ {
			id, err := s.EventID(name(i))
			if err != nil || id == posixtrace.EventUnnamed || ids[id] {
				t.Fatalf("EventID(%s) = %d, %v", name(i), id, err)
			}
			ids[id] = true
		}
	}
	open(0, 500)
	if l := c.Ask("fill map.nine. 300"); l != "300 0" {
		t.Fatal(l)
	}
	open(500, posixtrace.UserEventMax-1-300)
	for range 2 {
		if id, err := s.EventID("map.nine.past"); id != posixtrace.EventUnnamed || err != nil {
			t.Errorf("past the limit EventID = %d, %v", id, err)
		}
		if id := openIn(c, "map.nine.past.too"); id != posixtrace.EventUnnamed {
			t.Errorf("past the limit the target has id %d", id)
		}
	}
	if id, err := s.EventID(name(0)); !ids[id] || err != nil {
		t.Errorf("past the limit a known name has id %d, %v", id, err)
	}
	if id := openIn(c, name(0)); !ids[id] {
		t.Errorf("past the limit the target has id %d for a known name", id)
	}
	_, err := s.EventID(strings.Repeat("n", posixtrace.EventNameMax+1))
	wantErrno(t, err, syscall.ENAMETOOLONG)
	s.Shutdown()
	_, err = s.EventID("map.nine")
	wantErrno(t, err, syscall.EINVAL)
})

// Exec resets the count. What a controller adds before the new image makes its first
// call counts against the new one, what it had added before does not.
var _ = conform("MAP-09/posix_trace_trid_eventid_open/exec", func(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // it opens thousands of names in one thread
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{})
	add := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			id, err := s.EventID(fmt.Sprintf("map.nine.exec.%d", i))
			if err != nil || id == posixtrace.EventUnnamed {
				t.Fatalf("EventID of name %d = %d, %v", i, id, err)
			}
		}
	}
	// left registers as many names as there is still room for, and returns how many.
	left := func(prefix string) (n int) {
		t.Helper()
		for ; n < 2*posixtrace.UserEventMax; n++ {
			if a.do("open %s.%d", prefix, n) == strconv.Itoa(int(posixtrace.EventUnnamed)) {
				break
			}
		}
		return n
	}
	unnamed := strconv.Itoa(int(posixtrace.EventUnnamed))
	add(0, 100)
	a.do("burn 300 map.nine.first")
	a.exec()
	add(100, 800) // more than the first image left room for
	if n := left("map.nine.second"); n != posixtrace.UserEventMax-1-700 {
		t.Errorf("the new image has room for %d names, want %d", n, posixtrace.UserEventMax-1-700)
	}
	if id, err := s.EventID("map.nine.exec.past"); id != posixtrace.EventUnnamed || err != nil {
		t.Errorf("past the limit EventID = %d, %v", id, err)
	}
	// An image without any call, and one with a call at the start.
	a.exec()
	add(800, 900)
	a.exec()
	if n := left("map.nine.third"); n > posixtrace.UserEventMax-1 || n < posixtrace.UserEventMax-1-100 {
		t.Errorf("the third image has room for %d names", n)
	}
	if a.do("open map.nine.none") != unnamed {
		t.Error("there is still room")
	}
	a.exec()
	if n := left("map.nine.fourth"); n != posixtrace.UserEventMax-1 {
		t.Errorf("the fourth image has room for %d names, want %d", n, posixtrace.UserEventMax-1)
	}
})

var _ = conform("MAP-10/posix_trace_trid_eventid_open", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	a, b := newStreamOf(t, c.PID, posixtrace.Attr{}), newStreamOf(t, c.PID, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	for i := range 20 {
		name := fmt.Sprintf("map.ten.%d", i)
		x, err := a.EventID(name)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.EventID(name)
		if err != nil || x != y {
			t.Fatalf("%s is %d in one stream and %d in the other, %v", name, x, y, err)
		}
		a, b = b, a
	}
})

var _ = conform("MAP-11/posix_trace_eventid_get_name/EINVAL", func(t *testing.T) {
	s, path := newLoggedOf(t, 0, posixtrace.Attr{})
	id := eventID(t, "map.eleven")
	look := func(s typeLister) {
		t.Helper()
		for range 3 {
			if n, err := s.EventName(id); n != "map.eleven" || err != nil {
				t.Errorf("EventName(%d) = %q, %v", id, n, err)
			}
			for id, name := range predefinedNames {
				if n, err := s.EventName(id); n != name || err != nil {
					t.Errorf("EventName(%d) = %q, %v, want %q", id, n, err, name)
				}
			}
		}
		for _, bad := range []posixtrace.EventID{0, 9, 3500, 4000, 4096, ^posixtrace.EventID(0)} {
			_, err := s.EventName(bad)
			wantErrno(t, err, syscall.EINVAL)
		}
	}
	look(s)
	s.Shutdown()
	_, err := s.EventName(id)
	wantErrno(t, err, syscall.EINVAL)
	l := openLogAt(t, path)
	look(l)
	l.Close()
	_, err = l.EventName(id)
	wantErrno(t, err, syscall.EINVAL)
})

var _ = conform("MAP-12/posix_trace_eventid_equal", func(t *testing.T) {
	a, b := eventID(t, "map.twelve.a"), eventID(t, "map.twelve.b")
	s := newStreamOf(t, 0, posixtrace.Attr{})
	again, err := s.EventID("map.twelve.a")
	if err != nil || again != a {
		t.Errorf("%d == %d is false, %v", again, a, err)
	}
	if a == b || a == posixtrace.EventUnnamed || posixtrace.EventStart == posixtrace.EventStop {
		t.Error("different types compare equal")
	}
	s.Shutdown() // the stream does not matter, nor do ids that are none
	if a != again || posixtrace.EventID(0) == ^posixtrace.EventID(0) {
		t.Error("ids compare differently after the stream")
	}
})

var _ = conform("MAP-13/posix_trace_eventtypelist_getnext_id/EINVAL", func(t *testing.T) {
	s, path := newLoggedOf(t, 0, posixtrace.Attr{})
	eventID(t, "map.thirteen")
	look := func(s typeLister) {
		t.Helper()
		id, ok, err := s.NextEventType()
		if !ok || err != nil || id != posixtrace.EventError {
			t.Errorf("the first is %d, %v, %v", id, ok, err)
		}
		first, _ := s.EventName(id)
		seen := map[string]bool{}
		for _, n := range append(listTypes(t, s), first) {
			if seen[n] {
				t.Errorf("%q is in the list twice", n)
			}
			seen[n] = true
		}
		if !seen["map.thirteen"] {
			t.Error("map.thirteen is missing")
		}
	}
	look(s)
	s.Shutdown()
	_, _, err := s.NextEventType()
	wantErrno(t, err, syscall.EINVAL)
	l := openLogAt(t, path)
	look(l)
	l.Close()
	_, _, err = l.NextEventType()
	wantErrno(t, err, syscall.EINVAL)
})

var _ = conform("MAP-14/posix_trace_eventtypelist_getnext_id", func(t *testing.T) {
	s, path := newLoggedOf(t, 0, posixtrace.Attr{})
	end := func(s typeLister) {
		t.Helper()
		listTypes(t, s)
		for range 3 {
			if id, ok, err := s.NextEventType(); id != 0 || ok || err != nil {
				t.Errorf("past the end: %d, %v, %v", id, ok, err)
			}
		}
	}
	end(s)
	s.Shutdown()
	end(openLogAt(t, path))
})

var _ = conform("MAP-15/posix_trace_eventtypelist_rewind/EINVAL", func(t *testing.T) {
	s, path := newLoggedOf(t, 0, posixtrace.Attr{})
	again := func(s typeLister) {
		t.Helper()
		all := listTypes(t, s)
		for range 2 {
			if err := s.RewindEventTypes(); err != nil {
				t.Fatal(err)
			}
			if list := listTypes(t, s); !slices.Equal(list, all) {
				t.Errorf("after a rewind %v, want %v", list, all)
			}
		}
		s.RewindEventTypes()
		for range 3 {
			s.NextEventType()
		}
		s.RewindEventTypes() // in the middle
		if id, ok, _ := s.NextEventType(); !ok || id != posixtrace.EventError {
			t.Errorf("after a rewind the first is %d", id)
		}
	}
	again(s)
	s.Shutdown()
	wantErrno(t, s.RewindEventTypes(), syscall.EINVAL)
	l := openLogAt(t, path)
	again(l)
	l.Close()
	wantErrno(t, l.RewindEventTypes(), syscall.EINVAL)
})

var _ = conform("MAP-16", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	openIn(c, "map.sixteen.unused")
	s, path := newLoggedOf(t, c.PID, posixtrace.Attr{})
	openIn(c, "map.sixteen.later")
	s.EventID("map.sixteen.controller")
	own := []string{"map.sixteen.unused", "map.sixteen.later", "map.sixteen.controller"}
	check := func(what string, list []string) {
		t.Helper()
		var users []string
		for _, n := range list {
			if strings.HasPrefix(n, "map.") {
				users = append(users, n)
			}
		}
		if !slices.Equal(users, own) {
			t.Errorf("%s: user types %v, want %v", what, users, own)
		}
		for _, n := range predefinedNames {
			if !slices.Contains(list, n) {
				t.Errorf("%s: %s is missing", what, n)
			}
		}
	}
	live := listTypes(t, s)
	check("stream", live)
	s.Shutdown()
	openIn(c, "map.sixteen.too.late")
	logged := listTypes(t, openLogAt(t, path))
	check("log", logged)
	if !slices.Equal(live, logged) {
		t.Errorf("the log's list is %v, the stream's %v", logged, live)
	}
})

var _ = conform("MAP-17", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	s := running(t, c.PID, posixtrace.Attr{})
	openIn(c, "map.seventeen.z")
	openIn(c, "map.seventeen.a")
	list := listTypes(t, s)
	if n := len(list); n < 3 || list[n-2] != "map.seventeen.z" || list[n-1] != "map.seventeen.a" || list[n-3] != "posix_trace_unnamed_userevent" {
		t.Fatalf("list is %v", list)
	}
	// After the end of the list come the new types.
	openIn(c, "map.seventeen.m")
	if more := listTypes(t, s); fmt.Sprint(more) != "[map.seventeen.m]" {
		t.Errorf("after the end %v", more)
	}
	// The position is shared by threads; clearing does not move it.
	s.RewindEventTypes()
	var mu sync.Mutex
	seen := map[posixtrace.EventID]int{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range len(list) / 4 {
				id, ok, err := s.NextEventType()
				if !ok || err != nil {
					t.Error(ok, err)
				}
				mu.Lock()
				seen[id]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%d was handed out %d times", id, n)
		}
	}
	if err := s.Clear(); err != nil {
		t.Fatal(err)
	}
	if rest := listTypes(t, s); len(rest) != len(list)+1-len(list)/4*4 {
		t.Errorf("after clear the rest is %v", rest)
	}

	logged, path := newLoggedOf(t, c.PID, posixtrace.Attr{})
	logged.Shutdown()
	l := openLogAt(t, path)
	l.NextEventType()
	if err := l.Rewind(); err != nil {
		t.Fatal(err)
	}
	if id, ok, err := l.NextEventType(); !ok || err != nil || id != posixtrace.EventStart {
		t.Errorf("posix_trace_rewind moved the type list: %d, %v, %v", id, ok, err)
	}
})

var _ = conform("MAP-18", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{})
	byName := map[string]posixtrace.EventID{}
	for id, n := range eventTypesOf(t, s) {
		byName[n] = id
	}
	for id, name := range predefinedNames {
		if byName[name] != id {
			t.Errorf("%s is %d, want %d", name, byName[name], id)
		}
		if n, err := s.EventName(id); n != name || err != nil {
			t.Errorf("EventName(%d) = %q, %v, want %q", id, n, err, name)
		}
		if id.System() == (id == posixtrace.EventUnnamed) {
			t.Errorf("%s: System() is %v", name, id.System())
		}
	}
})

var _ = conform("MAP-19", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{StreamSize: 1, MaxDataSize: new(4)})
	id := eventID(t, "map.nineteen")
	var old, set posixtrace.EventSet
	old.Add(id)
	old.Add(4000)
	set.Add(posixtrace.EventProcFork)
	if err := s.SetFilter(old, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.SetFilter(set, posixtrace.FilterSet)
	s.Stop()
	s.Start()
	for range 10000 { // overwrites
		posixtrace.Event(id, []byte("1234"))
	}
	buf := make([]byte, 4096)
	seen := map[posixtrace.EventID]int{}
	check := func() {
		for {
			ev, n, err := s.TryNext(buf)
			if err != nil {
				break
			}
			data := buf[:n]
			seen[ev.ID]++
			switch ev.ID {
			case posixtrace.EventStart:
				want := old
				if seen[posixtrace.EventStart] > 1 {
					want = set
				}
				if f, err := posixtrace.DecodeSet(data); err != nil || f != want {
					t.Errorf("START %d: %v, %v", seen[posixtrace.EventStart], f, err)
				}
			case posixtrace.EventStop:
				if v, err := posixtrace.DecodeInt(data); v != 0 || err != nil || n != 4 {
					t.Errorf("STOP: %d, %v", v, err)
				}
			case posixtrace.EventFilter:
				if o, f, err := posixtrace.DecodeFilter(data); o != old || f != set || err != nil {
					t.Errorf("FILTER: %v, %v, %v", o, f, err)
				}
			case posixtrace.EventOverflow, posixtrace.EventResume:
				if n != 0 {
					t.Errorf("%d has %d bytes of data", ev.ID, n)
				}
			}
		}
	}
	check()
	if seen[posixtrace.EventOverflow] != 1 || seen[posixtrace.EventResume] != 1 {
		t.Errorf("OVERFLOW %d times, RESUME %d times, want once", seen[posixtrace.EventOverflow], seen[posixtrace.EventResume])
	}
	// The overwritten types once more.
	s.Shutdown()
	s = newStreamOf(t, 0, posixtrace.Attr{MaxDataSize: new(4)})
	clear(seen)
	s.SetFilter(old, posixtrace.FilterSet)
	s.Start()
	s.SetFilter(set, posixtrace.FilterSet)
	s.Stop()
	s.Start()
	check()
	if seen[posixtrace.EventStart] != 2 || seen[posixtrace.EventStop] != 1 || seen[posixtrace.EventFilter] != 1 {
		t.Errorf("events %v", seen)
	}
	// Flush marks.
	logged, path := newLoggedOf(t, 0, posixtrace.Attr{})
	logged.Start()
	posixtrace.Event(id, nil)
	if err := logged.Flush(); err != nil {
		t.Fatal(err)
	}
	logged.Shutdown()
	l := openLogAt(t, path)
	clear(seen)
	for {
		ev, n, err := l.Next(buf)
		if err != nil {
			break
		}
		seen[ev.ID]++
		if (ev.ID == posixtrace.EventFlushStart || ev.ID == posixtrace.EventFlushStop) && n != 0 {
			t.Errorf("flush mark with %d bytes", n)
		}
	}
	if seen[posixtrace.EventFlushStart] < 1 || seen[posixtrace.EventFlushStart] != seen[posixtrace.EventFlushStop] {
		t.Errorf("events of the log %v", seen)
	}
})

var _ = conform("MAP-20", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{})
	own := []posixtrace.EventID{posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit, posixtrace.EventProcSignal, posixtrace.EventOutputStdout, posixtrace.EventOutputStderr}
	listed := map[posixtrace.EventID]string{}
	for id, n := range eventTypesOf(t, s) {
		listed[id] = n
	}
	for _, id := range own {
		n, err := s.EventName(id)
		if err != nil || n == "" || listed[id] != n || !id.System() || id.User() {
			t.Errorf("EventName(%d) = %q, %v; listed as %q", id, n, err, listed[id])
		}
		if got, err := s.EventID(n); got != id || err != nil {
			t.Errorf("EventID(%q) = %d, %v, want %d", n, got, err, id)
		}
	}
})

var _ = conform("MAP-21", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	if l := c.Ask("fill map.twentyone. %d", posixtrace.UserEventMax-1); l != fmt.Sprint(posixtrace.UserEventMax-1, 0) {
		t.Fatal(l)
	}
	s := running(t, c.PID, posixtrace.Attr{})
	c.Ask("event %d direct", posixtrace.EventUnnamed)
	c.Ask("event %d one", openIn(c, "map.exhausted.1"))
	c.Ask("event %d two", openIn(c, "map.exhausted.2"))
	const unnamed = "posix_trace_unnamed_userevent"
	equal(t, drain(t, s), got{unnamed, "direct", c.PID}, got{unnamed, "one", c.PID}, got{unnamed, "two", c.PID})
})

var _ = conform("MAP-22", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	id, rare := openIn(c, "map.twentytwo"), openIn(c, "map.twentytwo.rare")
	s := running(t, c.PID, posixtrace.Attr{Name: "overrun", StreamSize: 1})
	logged, path := newLoggedOf(t, c.PID, posixtrace.Attr{Name: "overrun", StreamSize: 1, LogSize: 1, StreamFullPolicy: posixtrace.PolicyUntilFull})
	logged.Start()
	before, _ := s.Attr()
	c.Ask("event %d", rare)
	for range 20 {
		c.Ask("times %d 500", id)
		if err := logged.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if st, _ := s.Status(); st.StreamOverrunStatus != posixtrace.StatusOverrun {
		t.Fatal("the stream did not overrun")
	}
	if after, err := s.Attr(); after != before || err != nil {
		t.Errorf("attributes %+v, %v, want %+v", after, err, before)
	}
	if n, err := s.EventName(rare); n != "map.twentytwo.rare" || err != nil {
		t.Errorf("EventName = %q, %v", n, err)
	}
	st, _ := logged.Status()
	if st.LogOverrunStatus != posixtrace.StatusOverrun {
		t.Error("the log did not overrun")
	}
	want, _ := logged.Attr()
	if err := logged.Shutdown(); err != nil {
		t.Fatal(err)
	}
	l := openLogAt(t, path)
	have, err := l.Attr()
	if err != nil || !have.CreateTime.Equal(want.CreateTime) {
		t.Errorf("creation time of the log %v, %v, want %v", have.CreateTime, err, want.CreateTime)
	}
	have.CreateTime = want.CreateTime
	if have != want {
		t.Errorf("attributes of the log %+v, want %+v", have, want)
	}
	if n, err := l.EventName(rare); n != "map.twentytwo.rare" || err != nil {
		t.Errorf("EventName in the log = %q, %v", n, err)
	}
})

// timeoutContext bounds what must not hang.
func timeoutContext(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// newDirectory makes a trace directory for a test.
func newDirectory(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
