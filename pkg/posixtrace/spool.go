package posixtrace

import (
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
)

// Addresses of events that a command has recorded from what a shell left in a spool
// file. No program has such an address. Extension.
const (
	SpoolAddress  = 1 << 63 // all of them have this bit
	CoarseAddress = 1 << 62 // the shell knew the time to hundredths of a second
)

// Coarse reports whether the time of an event is that of a shell that knows it to
// hundredths of a second only, and may be that much too early. The order of
// such events among those of their shell is right. Extension.
func (e *EventInfo) Coarse() bool { return e.Address>>62 == 3 }

// SpoolDir returns the path of a directory that goes with the stream whose file is
// at streamPath (StreamInfo.Path): whoever makes it there can keep in it what is to
// become events of the stream, left by programs that cannot map it. It is removed with
// the stream, files and all; sealed is the path that it may be given before that, so
// that nobody finds it any more. Both are "" if the path is not that of a
// stream. The package does not look inside. Extension.
func SpoolDir(streamPath string) (dir, sealed string) {
	dir, ok := registry.SpoolDir(streamPath)
	if !ok {
		return "", ""
	}
	sealed, _ = registry.SealedSpoolDir(streamPath)
	return dir, sealed
}

// BeforeShutdown sets what is called, in every process that is about to shut a
// stream down, with the stream while it can still be recorded in. orphan tells that the
// stream's owner is dead and the caller shuts it down in its place, as List,
// Attach, NewReader and the create functions do; then f must record only. It may
// be called more than once for a stream. Extension.
func BeforeShutdown(f func(s *Stream, orphan bool)) { beforeShutdown.Store(&f) }

var beforeShutdown atomic.Pointer[func(*Stream, bool)]

// lastWords calls what BeforeShutdown has set for a stream whose owner is dead. The
// caller holds no lock of the stream's.
func lastWords(c *conn) {
	f := beforeShutdown.Load()
	if f == nil || c.dead() {
		return
	}
	c.lent = true
	s := newStream(c)
	(*f)(s, true)
	// The connection stays the caller's.
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.closed)
	if s.ctl != nil {
		s.ctl.close()
	}
	if s.names != nil {
		s.names.Close()
	}
}
