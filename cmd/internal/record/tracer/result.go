//go:build linux

package tracer

import (
	"sync"

	"golang.org/x/sys/unix"
)

// openers are the calls whose result is a descriptor.
var openers = sync.OnceValue(func() *[len(names)]bool {
	set := new([len(names)]bool)
	for _, name := range []string{
		"open", "openat", "openat2", "creat", "open_by_handle_at", "open_tree", "fsopen", "fsmount", "fspick",
		"dup", "dup2", "dup3", "socket", "accept", "accept4", "epoll_create", "epoll_create1", "eventfd", "eventfd2",
		"timerfd_create", "signalfd", "signalfd4", "inotify_init", "inotify_init1", "fanotify_init",
		"memfd_create", "memfd_secret", "pidfd_open", "pidfd_getfd", "userfaultfd", "perf_event_open",
		"io_uring_setup", "mq_open", "landlock_create_ruleset",
	} {
		for _, nr := range CallsOf(name) {
			set[nr] = true
		}
	}
	return set
})

// opens reports whether the result of the call is a descriptor.
func (c *call) opens() bool {
	if c.nr == unix.SYS_FCNTL {
		return c.raw[1] == unix.F_DUPFD || c.raw[1] == unix.F_DUPFD_CLOEXEC
	}
	return c.nr >= 0 && c.nr < len(names) && openers()[c.nr]
}
