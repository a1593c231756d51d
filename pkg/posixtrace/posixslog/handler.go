package posixslog

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Options are the options of a Handler. The zero value has the defaults.
type Options struct {
	// Name is the start of the names of the event types: Name.debug, Name.info, Name.warn, Name.error.
	// The default is "log".
	Name string

	// Level is the least level that is recorded. The default is all levels: filters of the streams
	// select among them.
	Level slog.Leveler

	// ReplaceAttr replaces attributes before they are recorded, as that of slog.HandlerOptions does: to
	// keep secrets out of the trace, for example. It is called for the level and the message, too, but
	// not for the time. The next handler is not affected.
	ReplaceAttr func(groups []string, a slog.Attr) slog.Attr
}

// Handler is a slog.Handler that records lines as events and passes them to the next handler. It is
// safe for concurrent use.
type Handler struct {
	*shared
	next slog.Handler // or nil

	// What WithAttrs and WithGroup have added: the members of the object, and the groups. The first
	// opened groups are open in members. The rest is opened when a line has a member for them.
	members []byte
	groups  []string
	opened  int
}

var _ slog.Handler = (*Handler)(nil)

// shared is what all handlers share that come from one call of New.
type shared struct {
	types   [4]posixtrace.EventID // by class
	level   slog.Leveler
	replace func([]string, slog.Attr) slog.Attr
}

// New returns a handler that records lines as events and passes them to next, which may be nil. It
// registers four event types, as posixtrace.MustEventID does: where that is impossible, the handler
// records nothing, and passes the lines on. New panics if the name of a type is too long.
func New(next slog.Handler, opts *Options) *Handler {
	if opts == nil {
		opts = &Options{}
	}
	name := opts.Name
	if name == "" {
		name = "log"
	}
	s := &shared{level: opts.Level, replace: opts.ReplaceAttr}
	for i, class := range [...]string{".debug", ".info", ".warn", ".error"} {
		s.types[i] = posixtrace.MustEventID(name + class)
	}
	return &Handler{shared: s, next: next}
}

// typeOf returns the event type of a level.
func (s *shared) typeOf(level slog.Level) posixtrace.EventID {
	switch {
	case level < slog.LevelInfo:
		return s.types[0]
	case level < slog.LevelWarn:
		return s.types[1]
	case level < slog.LevelError:
		return s.types[2]
	}
	return s.types[3]
}

// traced reports whether a stream records lines of a level now.
func (s *shared) traced(level slog.Level) bool {
	return posixtrace.Enabled(s.typeOf(level)) && (s.level == nil || level >= s.level.Level())
}

// Enabled reports whether a stream records lines of this level now, or the next handler handles them.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.traced(level) || h.next != nil && h.next.Enabled(ctx, level)
}

// Handle records the line and passes it to the next handler, whose error it returns.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if h.traced(r.Level) {
		h.record(ctx, &r)
	}
	if h.next != nil && h.next.Enabled(ctx, r.Level) {
		return h.next.Handle(ctx, r)
	}
	return nil
}

// lines are the buffers of lines. Large ones are not kept.
var lines = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

const maxKept = 16 << 10

func (h *Handler) record(ctx context.Context, r *slog.Record) {
	p := lines.Get().(*[]byte)
	o := object{b: append((*p)[:0], '{'), replace: h.replace}
	if h.replace == nil {
		o.key(slog.LevelKey)
		o.string(r.Level.String())
		o.key(slog.MessageKey)
		o.string(r.Message)
	} else {
		o.attr(slog.Any(slog.LevelKey, r.Level))
		o.attr(slog.String(slog.MessageKey, r.Message))
	}
	if len(h.members) > 0 {
		o.comma()
		o.b = append(o.b, h.members...)
	}
	open := h.opened
	if r.NumAttrs() > 0 {
		o.groups = h.groups[:h.opened:h.opened]
		m := o.open(h.groups[h.opened:]...)
		r.Attrs(func(a slog.Attr) bool { o.attr(a); return true })
		if o.close(m) {
			open = len(h.groups)
		}
	}
	for range open + 1 {
		o.b = append(o.b, '}')
	}
	posixtrace.EventAt(ctx, r.PC, h.typeOf(r.Level), o.b)
	if cap(o.b) <= maxKept {
		*p = o.b
		lines.Put(p)
	}
}

// WithAttrs returns a handler whose lines have these attributes, too. Their values are formatted now.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	c := *h
	if h.next != nil {
		c.next = h.next.WithAttrs(attrs)
	}
	o := object{b: slices.Clone(h.members), replace: h.replace, groups: h.groups[:h.opened:h.opened]}
	m := o.open(h.groups[h.opened:]...)
	for _, a := range attrs {
		o.attr(a)
	}
	if o.close(m) {
		c.opened = len(h.groups)
	}
	c.members = o.b
	return &c
}

// WithGroup returns a handler that puts the attributes that follow into a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	if h.next != nil {
		c.next = h.next.WithGroup(name)
	}
	c.groups = append(slices.Clip(h.groups), name)
	return &c
}
