package posixslog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixslog"
)

// The handler follows the rules of slog.Handler. The time of a line is the time of its event.
func TestSlogtest(t *testing.T) {
	for name, opts := range map[string]*posixslog.Options{
		"plain":   nil,
		"replace": {ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr { return a }},
	} {
		t.Run(name, func(t *testing.T) {
			var s *posixtrace.Stream
			slogtest.Run(t, func(t *testing.T) slog.Handler {
				s = record(t, nil)
				return posixslog.New(nil, opts)
			}, func(t *testing.T) map[string]any {
				ev := one(t, s)
				m := members(t, ev)
				if !strings.HasSuffix(t.Name(), "/zero-time") {
					m[slog.TimeKey] = ev.Time()
				}
				return m
			})
		})
	}
}

// Each level has its event type, and the data names a level between two of them.
func TestLevels(t *testing.T) {
	s := record(t, nil)
	l := slog.New(posixslog.New(nil, &posixslog.Options{Name: "web"}))
	for _, tt := range []struct {
		level slog.Level
		want  string
	}{
		{-100, "web.debug DEBUG-96"}, {slog.LevelDebug, "web.debug DEBUG"}, {-1, "web.debug DEBUG+3"},
		{slog.LevelInfo, "web.info INFO"}, {3, "web.info INFO+3"},
		{slog.LevelWarn, "web.warn WARN"}, {7, "web.warn WARN+3"},
		{slog.LevelError, "web.error ERROR"}, {100, "web.error ERROR+92"},
	} {
		l.Log(t.Context(), tt.level, "m")
		ev := one(t, s)
		if got := ev.Name + " " + members(t, ev)["level"].(string); got != tt.want {
			t.Errorf("%d is %q, not %q", tt.level, got, tt.want)
		}
	}
}

// Lines are recorded from the level on that the options name, now, and not if the stream rejects
// their type.
func TestLeastLevelAndFilter(t *testing.T) {
	s := record(t, nil)
	var least slog.LevelVar
	least.Set(slog.LevelWarn)
	h := posixslog.New(nil, &posixslog.Options{Level: &least})
	l := slog.New(h)
	l.Info("1")
	l.Warn("2")
	least.Set(slog.LevelInfo)
	l.Info("3")
	id, err := s.EventID("log.info")
	if err != nil {
		t.Fatal(err)
	}
	var reject posixtrace.EventSet
	reject.Add(id)
	if err := s.SetFilter(reject, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	l.Info("4")
	l.Error("5")
	if h.Enabled(t.Context(), slog.LevelInfo) || !h.Enabled(t.Context(), slog.LevelError) {
		t.Error("Enabled does not follow the filter")
	}
	var got []string
	for _, ev := range events(t, s) {
		got = append(got, members(t, ev)["msg"].(string))
	}
	if want := []string{"2", "3", "5"}; !reflect.DeepEqual(got, want) {
		t.Errorf("lines %q, not %q", got, want)
	}
}

// The next handler gets each line, with attributes and groups, whether it is recorded or not. Its level
// is its own, and its error is returned.
func TestNext(t *testing.T) {
	var out bytes.Buffer
	next := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	h := posixslog.New(next, nil)
	l := slog.New(h)
	if h.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("an untraced process, and a next handler without debug lines: Enabled")
	}
	say := func() {
		l.Debug("d")
		l.With("a", 1).WithGroup("g").With("b", 2).Info("i", "c", 3)
	}
	say()
	s := record(t, nil)
	say()
	const line = "level=INFO msg=i a=1 g.b=2 g.c=3\n"
	if out.String() != line+line {
		t.Errorf("the next handler printed %q", &out)
	}
	list := events(t, s)
	if len(list) != 2 || list[0].Name != "log.debug" || string(list[1].Data) != `{"level":"INFO","msg":"i","a":1,"g":{"b":2,"c":3}}` {
		t.Errorf("%v", list)
	}
	want := errors.New("disk full")
	if err := posixslog.New(failing{next, want}, nil).Handle(t.Context(), slog.Record{}); err != want {
		t.Errorf("the error of the next handler became %v", err)
	}
}

type failing struct {
	slog.Handler
	err error
}

func (f failing) Handle(context.Context, slog.Record) error { return f.err }

// ReplaceAttr keeps a secret out of the trace, and leaves the other handler alone.
func TestReplaceAttr(t *testing.T) {
	var groups []string
	var out bytes.Buffer
	l := slog.New(posixslog.New(slog.NewTextHandler(&out, nil), &posixslog.Options{
		ReplaceAttr: func(g []string, a slog.Attr) slog.Attr {
			if a.Key == "password" {
				groups = append(groups, strings.Join(g, "."))
				return slog.String(a.Key, "***")
			}
			return a
		},
	}))
	s := record(t, nil)
	l.WithGroup("a").With("password", 1).WithGroup("b").Info("m", "password", 2, slog.Group("c", "password", 3))
	ev := one(t, s)
	if string(ev.Data) != `{"level":"INFO","msg":"m","a":{"password":"***","b":{"password":"***","c":{"password":"***"}}}}` {
		t.Errorf("%s", ev.Data)
	}
	if want := []string{"a", "a.b", "a.b.c"}; !reflect.DeepEqual(groups, want) {
		t.Errorf("groups %q, not %q", groups, want)
	}
	if !strings.Contains(out.String(), "c.password=3") {
		t.Errorf("the next handler: %s", &out)
	}
}

// The address of the event is in the function that logs, and its span is that of the context.
func TestAddressAndSpan(t *testing.T) {
	typ, err := posixtrace.OpenSpanType("posixslog.span")
	if err != nil {
		t.Fatal(err)
	}
	s := record(t, nil)
	l := slog.New(posixslog.New(nil, nil))
	ctx, span := typ.Start(t.Context(), nil)
	logHere(ctx, l)
	logHere(t.Context(), l)
	span.End(nil)
	list := events(t, s)
	if len(list) != 4 {
		t.Fatalf("%d events", len(list))
	}
	for _, ev := range list[1:3] {
		if f := runtime.FuncForPC(uintptr(ev.Address) - 1); f == nil || f.Entry() != reflect.ValueOf(logHere).Pointer() {
			t.Errorf("address %#x is in %v", ev.Address, f)
		}
		if ev.TID == 0 {
			t.Error("no thread")
		}
	}
	if k := span.Key(); k == 0 || list[1].Span != k || list[1].Parent != 0 || list[2].Span != 0 || list[3].Span != k {
		t.Errorf("span %#x; spans of the events: %#x %#x %#x", k, list[1].Span, list[2].Span, list[3].Span)
	}
}

//go:noinline
func logHere(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "here") }

// A line that is longer than max-data-size is cut, and the event reports it.
func TestTruncation(t *testing.T) {
	s := record(t, &posixtrace.Attr{MaxDataSize: new(100)})
	l := slog.New(posixslog.New(nil, nil))
	l.Info("short")
	if ev := one(t, s); ev.Truncation != posixtrace.TruncationNone {
		t.Errorf("a short line: %v", ev.Truncation)
	}
	for _, size := range []int{200, 2 << 10, 1 << 20} { // also beyond the buffers that are kept
		l.Info(strings.Repeat("x", size))
		ev := one(t, s)
		if ev.Truncation != posixtrace.TruncationRecord || len(ev.Data) != 100 || !bytes.HasPrefix(ev.Data, []byte(`{"level":"INFO","msg":"xxx`)) {
			t.Errorf("%d bytes: %v %q", size, ev.Truncation, ev.Data)
		}
	}
}

// Attributes of WithAttrs are formatted at once: the program may change what they point to afterwards.
// Two handlers that come from one do not share members.
func TestWithAttrsFormatsNow(t *testing.T) {
	s := record(t, nil)
	m := map[string]int{"a": 1}
	h := posixslog.New(nil, nil).WithAttrs([]slog.Attr{slog.Any("m", m)})
	x, y := slog.New(h).With("n", 1), slog.New(h).With("n", 2)
	m["a"] = 2
	x.Info("x")
	y.Info("y")
	list := events(t, s)
	if len(list) != 2 || string(list[0].Data) != `{"level":"INFO","msg":"x","m":{"a":1},"n":1}` ||
		string(list[1].Data) != `{"level":"INFO","msg":"y","m":{"a":1},"n":2}` {
		t.Errorf("%v", list)
	}
}

// Values that log while they are formatted, panic or cannot be encoded do not harm the program, nor the
// rest of the line.
func TestOddValues(t *testing.T) {
	s := record(t, nil)
	l := slog.New(posixslog.New(nil, nil))
	l.Info("outer", "v", logging{l}, "panic", panics{}, "chan", make(chan int), "p", panicsInJSON{}, "e", fmt.Errorf("<%w>", io.EOF))
	list := events(t, s)
	if len(list) != 2 || members(t, list[0])["msg"] != "inner" {
		t.Fatalf("%v", list)
	}
	m := members(t, list[1])
	for key, want := range map[string]string{"v": "logged", "panic": "panick", "chan": "!ERROR:json: unsupported type", "p": "!PANIC: in JSON", "e": "<EOF>"} {
		if got, _ := m[key].(string); !strings.Contains(got, want) {
			t.Errorf("%s is %q, not %q", key, m[key], want)
		}
	}
}

type logging struct{ l *slog.Logger }

func (v logging) LogValue() slog.Value {
	v.l.Info("inner")
	return slog.StringValue("logged")
}

type panics struct{}

func (panics) LogValue() slog.Value { panic("at once") }

type panicsInJSON struct{}

func (panicsInJSON) MarshalJSON() ([]byte, error) { panic("in JSON") }

// Lines and trace points of one goroutine keep their order, and no line of another one gets into them.
func TestConcurrent(t *testing.T) {
	const goroutines, each = 8, 200
	s := record(t, &posixtrace.Attr{StreamSize: 4 << 20})
	point, err := posixtrace.OpenEventID("posixslog.point")
	if err != nil {
		t.Fatal(err)
	}
	root := slog.New(posixslog.New(slog.NewTextHandler(io.Discard, nil), nil)).With("service", "web")
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			l := root.WithGroup("g").With("id", g)
			for i := range each {
				if i%10 == 0 {
					l = root.WithGroup("g").With("id", g)
				}
				l.Info("line", "n", i)
				posixtrace.Event(point, fmt.Appendf(nil, "%d %d", g, i))
			}
		})
	}
	wg.Wait()
	st, err := s.Status()
	if err != nil || st.Lost > 0 {
		t.Fatalf("%d lost, %v", st.Lost, err)
	}
	var lines, points [goroutines]int
	for _, ev := range events(t, s) {
		if ev.Name == "posixslog.point" {
			var g, i int
			if _, err := fmt.Sscan(string(ev.Data), &g, &i); err != nil || i != points[g] || lines[g] != i+1 {
				t.Fatalf("point %q after %d lines and %d points", ev.Data, lines[g], points[g])
			}
			points[g]++
			continue
		}
		v := members(t, ev)["g"].(map[string]any)
		g, i := int(v["id"].(float64)), int(v["n"].(float64))
		if i != lines[g] || points[g] != i {
			t.Fatalf("line %d of %d after %d lines and %d points", i, g, lines[g], points[g])
		}
		lines[g]++
	}
	for g := range goroutines {
		if lines[g] != each || points[g] != each {
			t.Errorf("%d: %d lines, %d points", g, lines[g], points[g])
		}
	}
}

// A line allocates nothing, whether a stream records it or not.
func TestAllocations(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	l := slog.New(posixslog.New(nil, nil)).With("service", "web")
	ctx := context.Background()
	line := func() { l.LogAttrs(ctx, slog.LevelInfo, "served", slog.String("path", "/a"), slog.Int("status", 200)) }
	if n := testing.AllocsPerRun(1000, line); n != 0 {
		t.Errorf("untraced: %v allocations", n)
	}
	s := record(t, nil)
	if n := testing.AllocsPerRun(1000, line); n != 0 {
		t.Errorf("traced: %v allocations", n)
	}
	if len(events(t, s)) == 0 {
		t.Error("nothing was recorded")
	}
}

func BenchmarkHandler(b *testing.B) {
	for _, traced := range []bool{false, true} {
		b.Run(fmt.Sprintf("traced=%v", traced), func(b *testing.B) {
			if traced {
				record(b, nil)
			}
			l := slog.New(posixslog.New(nil, nil))
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				l.LogAttrs(ctx, slog.LevelInfo, "served", slog.String("path", "/a"), slog.Int("status", 200))
			}
		})
	}
	b.Run("JSONHandler", func(b *testing.B) {
		l := slog.New(slog.NewJSONHandler(io.Discard, nil))
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			l.LogAttrs(ctx, slog.LevelInfo, "served", slog.String("path", "/a"), slog.Int("status", 200))
		}
	})
}
