package posixslog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixslog"
)

// like compares the data of a line's event with what slog.JSONHandler prints.
func like(t *testing.T, s *posixtrace.Stream, say func(*slog.Logger)) {
	t.Helper()
	var out bytes.Buffer
	say(slog.New(posixslog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.Level(-100), ReplaceAttr: withoutTime}), nil)))
	got := string(one(t, s).Data)
	if want := strings.TrimSuffix(out.String(), "\n"); got != want {
		t.Errorf("data %s\nslog %s", got, want)
	}
	if !json.Valid([]byte(got)) {
		t.Errorf("not JSON: %s", got)
	}
}

// The data is what slog.JSONHandler prints, without the time.
func TestLikeJSONHandler(t *testing.T) {
	s := record(t, &posixtrace.Attr{MaxDataSize: new(1 << 16), StreamSize: 1 << 20})
	when := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	for _, v := range []any{
		"text", "", "\x00\x1f\x7f\"\\\b\f\n\r\t\u2028\u2029\xff é\U0001f600<&>", -1, int64(math.MinInt64), uint64(math.MaxUint64),
		1.5, 1e21, 1e-9, float32(0.1), math.Inf(1), math.NaN(), true, nil, time.Second, when, []int{1, 2}, []byte("bytes"),
		map[string]any{"<b>": "&", "a": []string{"x"}}, struct {
			A int
			B string `json:"b,omitempty"`
		}{1, ""}, errors.New("failed"), json.RawMessage(`{"a": 1}`), json.Number("12"), slog.LevelWarn, &when,
		slog.GroupValue(slog.Int("a", 1), slog.Group("b", "c", 2), slog.Group("none")), slog.GroupValue(),
	} {
		like(t, s, func(l *slog.Logger) { l.Info("m", "v", v) })
		like(t, s, func(l *slog.Logger) { l.With("v", v).WithGroup("g").Info("m", slog.Group("", "v", v), "w", v) })
	}
	for _, text := range hostile.Texts() {
		like(t, s, func(l *slog.Logger) { l.With(text, text).WithGroup(text).Warn(text, text, text) })
	}
	for _, say := range []func(*slog.Logger){
		func(l *slog.Logger) { l.WithGroup("a").WithGroup("b").Info("m") },
		func(l *slog.Logger) { l.WithGroup("a").WithGroup("b").Info("m", "k", 1) },
		func(l *slog.Logger) { l.WithGroup("a").With("k", 1).WithGroup("b").Info("m") },
		func(l *slog.Logger) { l.WithGroup("a").With(slog.Group("none")).WithGroup("b").Info("m", slog.Attr{}) },
		func(l *slog.Logger) {
			l.With("k", 1).WithGroup("a").With("k", 2).WithGroup("b").With("k", 3).Info("m", "k", 4)
		},
		func(l *slog.Logger) { l.With().WithGroup("").Info("m", []any{"unpaired"}...) },
		func(l *slog.Logger) { l.Info("m", "same", 1, "same", 2) },
	} {
		like(t, s, say)
	}
}

// Any text makes valid JSON, the same as that of slog.JSONHandler.
func FuzzText(f *testing.F) {
	f.Add("msg", "key", "value")
	f.Add("\xff\xfe", "\x00", "\u2028\"\\")
	f.Fuzz(func(t *testing.T, msg, key, value string) {
		s := record(t, &posixtrace.Attr{MaxDataSize: new(1 << 16), StreamSize: 1 << 20})
		if len(msg)+len(key)+len(value) > 8000 {
			return
		}
		like(t, s, func(l *slog.Logger) { l.WithGroup(key).Info(msg, key, value) })
	})
}
