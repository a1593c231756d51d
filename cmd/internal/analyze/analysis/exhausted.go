package analysis

import (
	"bytes"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/samples"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Resource is what a process may find used up.
type Resource uint8

// The resources.
const (
	Space       Resource = iota // of a file system
	Quota                       // the user's part of it
	Descriptors                 // of the process
	Files                       // that the system can have open
)

// Exhausted is a resource that a process of a failure found used up: by a system call that failed for want of
// it, or by a sample that shows it.
type Exhausted struct {
	Resource
	Command Command // that the process ran, without its end
	Calls   uint64  // that failed; 0 if samples show it
	At      int64
	First   Entered // the first of the calls: others may follow from it, as a look for the text of a message

	fate *fate // of the process, nil if the log has no start of it
}

// Call returns the call that failed, "" if samples show it. It is untrusted text.
func (e *Exhausted) Call() string {
	if e.Calls == 0 {
		return ""
	}
	return e.First.Brief()
}

// maxExhausted bounds how many processes and resources of a log are kept: the latest.
const maxExhausted = 64

// exhausted are those of a log, in the order of their latest calls.
type exhausted []Exhausted

// Error numbers of Linux, on whichever system the log is read.
const (
	enfile = 23
	emfile = 24
	enospc = 28
	edquot = 122
)

// writers have the calls that fail with ENOSPC or EDQUOT where a file system has no room. Others, such as
// inotify_add_watch, mean another bound by these numbers.
var writers = wordSet("write pwrite64 writev pwritev pwritev2 sendfile sendfile64 splice vmsplice copy_file_range fallocate truncate truncate64 ftruncate ftruncate64 " +
	"fsync fdatasync sync_file_range msync close open openat openat2 creat mkdir mkdirat mknod mknodat link linkat symlink symlinkat rename renameat renameat2 " +
	"setxattr lsetxattr fsetxattr chown fchown lchown fchownat")

// openers have the calls that fail with EMFILE or ENFILE for want of a descriptor.
var openers = wordSet("open openat openat2 creat open_by_handle_at dup dup3 fcntl fcntl64 pipe pipe2 socket socketpair accept accept4 epoll_create epoll_create1 " +
	"eventfd eventfd2 signalfd signalfd4 timerfd_create memfd_create memfd_secret pidfd_open pidfd_getfd io_uring_setup userfaultfd")

// resourceOf returns what was used up when a call failed.
func resourceOf(name string, errno int) (r Resource, ok bool) {
	switch errno {
	case enospc:
		return Space, writers[name]
	case edquot:
		return Quota, writers[name]
	case emfile:
		return Descriptors, openers[name]
	case enfile:
		return Files, openers[name]
	}
	return 0, false
}

// call notes a call that failed.
func (l *exhausted) call(s *Source, name string, rec *posixtrace.Record, errno int) {
	r, ok := resourceOf(name, errno)
	if !ok {
		return
	}
	e := l.of(s, r, rec.PID)
	if e.Calls++; e.Calls == 1 {
		e.At = rec.UnixNano
		e.First = Entered{PID: rec.PID, TID: rec.TID, To: rec.UnixNano, Name: name, data: bytes.Clone(rec.Data[:min(len(rec.Data), maxEnteredData)])}
	}
}

// sample notes a process that a sample shows at its limit of descriptors.
func (l *exhausted) sample(s *Source, pid int, at int64) {
	if e := l.of(s, Descriptors, pid); e.At == 0 {
		e.At = at
	}
}

// of returns the entry of a process, which becomes the last.
func (l *exhausted) of(s *Source, r Resource, pid int) *Exhausted {
	var f *fate
	q := s.a.processes.running.of(processKey(s, pid))
	if q != nil {
		f = q.theFate()
	}
	i := slices.IndexFunc(*l, func(e Exhausted) bool { return e.Resource == r && e.Command.PID == pid && e.fate == f })
	var e Exhausted
	if i >= 0 {
		e = (*l)[i]
	} else {
		e = Exhausted{Resource: r, fate: f, Command: Command{PID: pid, Source: int(s.index), State: Running}}
		if i = 0; len(*l) < maxExhausted {
			*l = append(*l, e)
			i = len(*l) - 1
		}
	}
	if q != nil { // it may have executed another program
		e.Command.Start, e.Command.Forked = q.start, !q.executed
		if !bytes.Equal(e.Command.args, q.args) {
			e.Command.args = bytes.Clone(q.args)
		}
	}
	copy((*l)[i:], (*l)[i+1:])
	last := &(*l)[len(*l)-1]
	*last = e
	return last
}

// Exhausted returns what processes of a run that failed found used up, the latest first: those that made it
// fail, or that ran when its time limit passed. A process that found so, and whose end did not matter, is not
// among them. Of a resource and a command there is one.
func (a *Analysis) Exhausted(r *Run) (list []*Exhausted) {
	if !r.Failed() && !r.TimedOut() {
		return nil
	}
	s := r.Source
	alone := a.CommandTotals().Commands <= uint64(len(a.Runs())) // the log does not say which process failed
	for i := len(s.exhausted) - 1; i >= 0; i-- {
		e := &s.exhausted[i]
		if e.fate == nil && !alone || e.fate != nil && !e.fate.counted() && !ran(r.Timeout, e) {
			continue
		}
		label([]*Command{&e.Command})
		list = append(list, e)
	}
	return list
}

// ran reports whether a process ran what a time limit ended.
func ran(t *Timeout, e *Exhausted) bool {
	return t != nil && slices.ContainsFunc(t.Running, func(c *Command) bool { return c.PID == e.Command.PID && c.Start == e.Command.Start })
}

// Full returns the file systems that had no room when a run failed, by its last sample.
func (r *Run) Full() samples.Full {
	if !r.Failed() {
		return samples.Full{}
	}
	return r.Source.samples.Full()
}
