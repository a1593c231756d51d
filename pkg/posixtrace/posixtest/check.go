package posixtest

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// pattern selects events by name and, unless it is nil, data.
type pattern struct{ name, data *regexp.Regexp }

func (p *pattern) match(e *Event) bool {
	return p.name.MatchString(e.Name) && (p.data == nil || p.data.MatchString(e.Data))
}

// compile compiles NAME or NAME DATA.
func compile(s string) (p pattern) {
	name, data, ok := strings.Cut(s, " ")
	p.name = glob(name)
	if ok {
		p.data = glob(data)
	}
	return p
}

var wild = strings.NewReplacer(`\*`, `.*`, `\?`, `.`)

func glob(s string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)^` + wild.Replace(regexp.QuoteMeta(s)) + `$`)
}

// matches returns the events that match.
func (tr *Trace) matches(want string) (list []Event) {
	tr.t.Helper()
	p := compile(want)
	for _, e := range tr.Events() {
		if p.match(&e) {
			list = append(list, e)
		}
	}
	return list
}

// Wait waits until an event that matches has been recorded, at most as long as limit, and returns it,
// the first one if there are several. It ends the test if there is none by then. A limit that suits a
// machine with other work costs nothing where the event comes at once.
func (tr *Trace) Wait(limit time.Duration, want string) Event {
	tr.t.Helper()
	return tr.WaitCount(limit, 1, want)[0]
}

// WaitCount waits for n events or more, and returns all that match.
func (tr *Trace) WaitCount(limit time.Duration, n int, want string) []Event {
	tr.t.Helper()
	deadline := time.Now().Add(limit)
	// A last look follows the deadline: this process may have been stopped until then.
	for err := error(nil); ; err = tr.wait(deadline) {
		list := tr.matches(want)
		if len(list) >= max(n, 1) {
			return list
		}
		if err != nil {
			tr.t.Fatalf("posixtest: %d events %q within %v, want %d: %v", len(list), want, limit, n, err)
		}
	}
}

// Count fails the test unless n events match of those recorded so far. It does not wait: a test first
// waits for an event that follows them.
func (tr *Trace) Count(n int, want string) {
	tr.t.Helper()
	if list := tr.matches(want); len(list) != n {
		tr.t.Errorf("posixtest: %d events %q, want %d", len(list), want, n)
	}
}

// None fails the test if an event matches of those recorded so far. It does not wait.
func (tr *Trace) None(want string) {
	tr.t.Helper()
	tr.AtMost(0, want)
}

// AtMost fails the test if more than n events match of those recorded so far. It does not wait.
func (tr *Trace) AtMost(n int, want string) {
	tr.t.Helper()
	list := tr.matches(want)
	switch {
	case len(list) <= n:
	case n == 0:
		tr.t.Errorf("posixtest: %d events %q, want none; the first is %s", len(list), want, list[0])
	default:
		tr.t.Errorf("posixtest: %d events %q, want at most %d", len(list), want, n)
	}
}

// Before fails the test unless, of the events recorded so far, the first one that matches first comes
// before the first one that matches then. Both must be there. It does not wait.
func (tr *Trace) Before(first, then string) {
	tr.t.Helper()
	list := tr.Events()
	at := func(want string) int {
		p := compile(want)
		return slices.IndexFunc(list, func(e Event) bool { return p.match(&e) })
	}
	a, b := at(first), at(then)
	for _, missing := range []struct {
		at   int
		want string
	}{{a, first}, {b, then}} {
		if missing.at < 0 {
			tr.t.Errorf("posixtest: no event %q at all", missing.want)
		}
	}
	if a >= 0 && b >= 0 && a >= b {
		tr.t.Errorf("posixtest: event %s does not come before %s", list[a], list[b])
	}
}

// Order fails the test unless, among the events recorded so far, there are some that match want in this
// order. Other events may come between them. It does not wait.
func (tr *Trace) Order(want ...string) {
	tr.t.Helper()
	list := tr.Events()
	after := "at all"
	for _, w := range want {
		p := compile(w)
		i := 0
		for i < len(list) && !p.match(&list[i]) {
			i++
		}
		if i == len(list) {
			tr.t.Errorf("posixtest: no event %q %s", w, after)
			return
		}
		after = "after " + list[i].String()
		list = list[i+1:]
	}
}
