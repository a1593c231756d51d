package posixtrace

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/hook"

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

// lastWords calls the function that tool.BeforeShutdown has set for a stream whose owner is dead. The
// caller holds no lock of the stream.
func lastWords(c *conn) {
	f := hook.BeforeShutdown.Load()
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
