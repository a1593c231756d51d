package spool

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracecontext"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	given   = "00-" + traceID + "-1111111111111111-01" // to the command of the step
	around  = "00f067aa0ba902b7"
)

// The line of a span may have a trace context. A malformed one, and the text of a later version, costs
// the context only.
func TestParseTraceContext(t *testing.T) {
	const span = "9.1"
	for _, tt := range []struct {
		field string
		state string // "-": no context
	}{
		{":" + given + ":" + around + ":", ""},
		{"9.2:" + given + ":" + around + ":", ""},
		{":" + given + ":" + around + `:rojo=1, a=b:c%d\"`, `rojo=1, a=b:c%d\"`},
		{":" + given + ":" + around + ":malformed", ""},
		{"", "-"},
		{"9.2", "-"},
		{":", "-"},
		{":" + given, "-"},
		{":" + given + ":" + around, "-"},
		{":" + given + ":" + around[1:] + ":", "-"},
		{":" + given + ":0000000000000000:", "-"},
		{":" + given + ":" + around[1:] + "x:", "-"},
		{":" + strings.ToUpper(given) + ":" + around + ":", "-"},
		{"::" + around + ":a=b", "-"},
	} {
		l, ok := parse([]byte("a.begin\t9:" + span + ":" + tt.field + "\t\t"))
		if !ok || l.span != 9<<32|1 || strings.HasPrefix(tt.field, "9.2") != (l.parent == 9<<32|2) {
			t.Errorf("%q: %v, span %#x, parent %#x", tt.field, ok, l.span, l.parent)
		}
		if l.trace == nil || tt.state == "-" {
			if (l.trace == nil) != (tt.state == "-") {
				t.Errorf("%q: context %x", tt.field, l.trace)
			}
			continue
		}
		d, err := posixtrace.DecodeContext(l.trace)
		if err != nil || tracecontext.Format(&d) != given || hex.EncodeToString(d.Parent[:]) != around || d.State != tt.state {
			t.Errorf("%q: %+v, %v", tt.field, d, err)
		}
	}
}

// The context is recorded before its span, by the same process and at the same time, and only if the
// stream records the span.
func TestDrainRecordsTraceContext(t *testing.T) {
	s, path := newStream(t, posixtrace.Attr{})
	id, err := s.EventID("no.begin")
	if err != nil {
		t.Fatal(err)
	}
	var reject posixtrace.EventSet
	reject.Add(id)
	if err := s.SetFilter(reject, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"no", "yes"} {
		appendTo(t, path, name+".begin\t9:9.1::"+given+":"+around+":a=b\t\t\n"+name+".end\t9:9.1\t\t0\n")
	}
	drain(t, s, false)
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var names []string
	var at int64
	for rec, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.ID != posixtrace.EventProcContext && !rec.ID.User() {
			continue
		}
		names = append(names, rec.Name)
		switch {
		case rec.PID != 9 || rec.TID != 9:
			t.Errorf("%s of %d %d", rec.Name, rec.PID, rec.TID)
		case rec.ID == posixtrace.EventProcContext:
			at = rec.UnixNano
		case rec.Name == "yes.begin" && rec.UnixNano-at > int64(time.Millisecond):
			t.Errorf("the span starts %v after its context", time.Duration(rec.UnixNano-at))
		}
	}
	if got := strings.Join(names, " "); got != "no.end proc.context yes.begin yes.end" {
		t.Error(got)
	}
	if n := lost(t, s); n != 0 {
		t.Errorf("%d lost", n)
	}
}

// Each shell reports a malformed value; the stream keeps one report.
func TestMalformedContextOnce(t *testing.T) {
	s, path := newStream(t, posixtrace.Attr{})
	for range 2 {
		appendTo(t, path, strings.Repeat("tracecontext.malformed\t9\t\tTRACEPARENT=x\n", 2))
		drain(t, s, false)
	}
	if got := strings.Join(events(t, s), "|"); got != "tracecontext.malformed 9 TRACEPARENT=x" || lost(t, s) != 0 {
		t.Errorf("%q, %d lost", got, lost(t, s))
	}
}

// A secret in the state of a context is replaced; the ids stay.
func TestRewriteState(t *testing.T) {
	hide := func(b []byte, _ bool) []byte { return bytes.ReplaceAll(b, []byte("secret"), []byte("***")) }
	for state, want := range map[string]string{"a=secret,b=1": "a=***,b=1", "a=1": "a=1", "": ""} {
		trace := traceContext([]byte(given + ":" + around + ":" + state))
		d, err := posixtrace.DecodeContext(rewriteState(trace, hide))
		if err != nil || d.State != want || tracecontext.Format(&d) != given || hex.EncodeToString(d.Parent[:]) != around {
			t.Errorf("%q becomes %+v, %v", state, d, err)
		}
	}
	if got := rewriteState(nil, hide); got != nil {
		t.Errorf("no context becomes %x", got)
	}
}
