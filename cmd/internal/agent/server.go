package agent

import (
	"sync/atomic"
	"time"
)

// server is the goroutine that serves requests. It serves most of them itself, since a goroutine for each
// would cost more than the request. Any of them may wait, for example for the lock of a stream that a
// stopped process holds. Another server takes over then.
type server struct {
	turns atomic.Uint64 // odd while it serves a request
}

// How long a request may keep the server, and for how many such periods without a request the agent looks
// whether one does.
const (
	relief     = 2 * time.Millisecond
	reliefIdle = 50
)

// serve serves requests until the process ends, or another server has taken over.
func (a *agent) serve(s *server) {
	for a.server.Load() == s {
		call, area := a.m.await()
		s.turns.Add(1)
		if a.unwatched.Load() && a.unwatched.CompareAndSwap(true, false) {
			select {
			case a.watch <- struct{}{}:
			default: // relieve has yet to see the last one
			}
		}
		if call >= 0 {
			a.dispatch(&a.m.ch.Call[call])
		}
		if area >= 0 {
			a.more(area)
		}
		s.turns.Add(1)
	}
}

// relieve starts another server when a request keeps the one there is. It rests while there are no requests.
func (a *agent) relieve() {
	for range a.watch {
		for idle := 0; !a.unwatched.Load(); {
			s := a.server.Load()
			turns := s.turns.Load()
			time.Sleep(relief)
			switch {
			case s.turns.Load() != turns:
				idle = 0
				continue
			case turns%2 == 1:
				a.startServer()
				idle = 0
				continue
			}
			if idle++; idle < reliefIdle {
				continue
			}
			// In this order: a server that does not see it has taken its turn before.
			a.unwatched.Store(true)
			if s.turns.Load() != turns {
				a.unwatched.Store(false)
				idle = 0
			}
		}
	}
}

func (a *agent) startServer() {
	s := new(server)
	a.server.Store(s)
	go a.serve(s)
}
