package conformance

import (
	"context"
	"io"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// TestCallMatrix goes through section 15 of the requirements: which call works on
// which id. Where C returns EINVAL for a kind of id, the Go type may lack the method, so that the
// call does not compile.
func TestCallMatrix(t *testing.T) {
	const (
		none   = -1 // there is no such method
		ok     = 0
		einval = int(syscall.EINVAL)
	)
	buf := make([]byte, 4096)
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	rows := []struct {
		function string
		method   string
		stream   func(s *posixtrace.Stream) error
		log      func(l *posixtrace.Log) error
		plain    int // active, no log
		logged   int // active, with log
		opened   int // opened log
	}{
		{"start", "Start", (*posixtrace.Stream).Start, nil, ok, ok, none},
		{"stop", "Stop", (*posixtrace.Stream).Stop, nil, ok, ok, none},
		{"clear", "Clear", (*posixtrace.Stream).Clear, nil, ok, ok, none},
		{"flush", "Flush", (*posixtrace.Stream).Flush, nil, einval, ok, none},
		{"shutdown", "Shutdown", (*posixtrace.Stream).Shutdown, nil, ok, ok, none},
		{"get_status", "Status", func(s *posixtrace.Stream) error { _, err := s.Status(); return err },
			func(l *posixtrace.Log) error { _, err := l.Status(); return err }, ok, ok, ok},
		{"get_attr", "Attr", func(s *posixtrace.Stream) error { _, err := s.Attr(); return err },
			func(l *posixtrace.Log) error { _, err := l.Attr(); return err }, ok, ok, ok},
		{"get_filter", "Filter", func(s *posixtrace.Stream) error { _, err := s.Filter(); return err }, nil, ok, ok, none},
		{"set_filter", "SetFilter", func(s *posixtrace.Stream) error { return s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet) }, nil, ok, ok, none},
		{"trid_eventid_open", "EventID", func(s *posixtrace.Stream) error { _, err := s.EventID("matrix"); return err }, nil, ok, ok, none},
		{"eventid_get_name", "EventName", func(s *posixtrace.Stream) error { _, err := s.EventName(posixtrace.EventStart); return err },
			func(l *posixtrace.Log) error { _, err := l.EventName(posixtrace.EventStart); return err }, ok, ok, ok},
		{"eventtypelist_getnext_id", "NextEventType", func(s *posixtrace.Stream) error { _, _, err := s.NextEventType(); return err },
			func(l *posixtrace.Log) error { _, _, err := l.NextEventType(); return err }, ok, ok, ok},
		{"eventtypelist_rewind", "RewindEventTypes", (*posixtrace.Stream).RewindEventTypes, (*posixtrace.Log).RewindEventTypes, ok, ok, ok},
		{"getnext_event", "Next", func(s *posixtrace.Stream) error { _, _, err := s.Next(soon(), buf); return err },
			func(l *posixtrace.Log) error { _, _, err := l.Next(buf); return err }, ok, einval, ok},
		{"timedgetnext_event", "TimedNext", func(s *posixtrace.Stream) error { _, _, err := s.TimedNext(time.Now(), buf); return err }, nil, ok, einval, none},
		{"trygetnext_event", "TryNext", func(s *posixtrace.Stream) error { _, _, err := s.TryNext(buf); return err }, nil, ok, einval, none},
		{"rewind", "Rewind", nil, (*posixtrace.Log).Rewind, none, none, ok},
		{"close", "Close", nil, (*posixtrace.Log).Close, none, none, ok},
	}
	errno := func(t *testing.T, err error, want int) {
		t.Helper()
		if want == ok {
			if err != nil {
				t.Errorf("error is %v", err)
			}
		} else {
			wantErrno(t, err, syscall.Errno(want))
		}
	}
	stream := func(t *testing.T, logged bool) (*posixtrace.Stream, string) {
		var s *posixtrace.Stream
		path := ""
		if logged {
			s, path = newLogged(t, nil)
		} else {
			s = newStream(t, nil)
		}
		startStream(t, s)
		return s, path
	}
	log := func(t *testing.T) *posixtrace.Log {
		s, path := stream(t, true)
		shutdownStream(t, s)
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
	for _, r := range rows {
		t.Run(r.function, func(t *testing.T) {
			for _, col := range []struct {
				name   string
				logged bool
				want   int
			}{{"active, no log", false, r.plain}, {"active, with log", true, r.logged}} {
				t.Run(col.name, func(t *testing.T) {
					if col.want == none {
						// Stream.Close is not posix_trace_close, but gives up a connection
						// and leaves the stream as it is.
						if r.method == "Close" {
							s, _ := stream(t, col.logged)
							if _, is := any(s).(interface {
								Rewind() error
								io.Closer
							}); is {
								t.Error("a Stream can be used as a Log")
							}
							return
						}
						wantNoMethod(t, &posixtrace.Stream{}, r.method)
						return
					}
					s, _ := stream(t, col.logged)
					errno(t, r.stream(s), col.want)
				})
				t.Run("stale: "+col.name, func(t *testing.T) {
					if col.want == none {
						return
					}
					s, _ := stream(t, col.logged)
					shutdownStream(t, s)
					errno(t, r.stream(s), einval)
				})
			}
			t.Run("opened log", func(t *testing.T) {
				if r.opened == none {
					wantNoMethod(t, &posixtrace.Log{}, r.method)
					return
				}
				errno(t, r.log(log(t)), r.opened)
			})
			t.Run("stale: opened log", func(t *testing.T) {
				if r.opened != none {
					l := log(t)
					if err := l.Close(); err != nil {
						t.Fatal(err)
					}
					errno(t, r.log(l), einval)
				}
			})
		})
	}
	t.Run("eventid_equal", func(t *testing.T) {
		// Comparison with ==, whatever the stream or its state: ids are plain values.
		if !reflect.TypeFor[posixtrace.EventID]().Comparable() || reflect.TypeFor[posixtrace.EventID]().Kind() != reflect.Uint32 {
			t.Error("ids are not plain values")
		}
		s, _ := stream(t, false)
		a, err := s.EventID("matrix.a")
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.EventID("matrix.b")
		if err != nil {
			t.Fatal(err)
		}
		shutdownStream(t, s)
		if again := eventID(t, "matrix.a"); a == b || a != again {
			t.Errorf("ids are %d, %d, and %d again", a, b, again)
		}
	})
	t.Run("errnos", func(t *testing.T) {
		s, _ := stream(t, false)
		_, err := s.EventID(strings.Repeat("x", posixtrace.EventNameMax+1))
		wantErrno(t, err, syscall.ENAMETOOLONG)
		_, err = s.EventName(3000)
		wantErrno(t, err, syscall.EINVAL)
		_, err = log(t).EventName(3000)
		wantErrno(t, err, syscall.EINVAL)
		readAll(t, s)
		_, _, err = s.Next(soon(), nil)
		wantErrno(t, err, syscall.EINTR)
		_, _, err = s.TimedNext(time.Now(), nil)
		wantErrno(t, err, syscall.ETIMEDOUT)
		l, _ := stream(t, true)
		posixtrace.Event(eventID(t, "matrix"), nil)
		defer replaceLog(t, l, "/dev/full", syscall.O_RDWR)()
		wantErrno(t, l.Flush(), syscall.ENOSPC)
		wantErrno(t, l.Shutdown(), syscall.ENOSPC)
		wantErrno(t, l.Shutdown(), syscall.EINVAL) // resources are freed all the same
	})
}
