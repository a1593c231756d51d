package run

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// openLive opens the file of --live.
func (s *session) openLive() error {
	if !s.plan.live.on {
		return nil
	}
	l := &live{s: s, fd: 2, stop: make(chan struct{}), done: make(chan struct{})}
	if name := s.plan.live.file; name != "" {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return cli.Failure(name, logfile.Bare(err))
		}
		l.file, l.fd = f, int(f.Fd())
	}
	s.live = l
	return nil
}

// write writes what is formatted. An error, such as a closed pipe, ends the showing and leaves the
// command alone: os.File would end this process with SIGPIPE.
func (l *live) write() {
	b := escape.Commands(l.buf, false) // lines begin with text of ours, such as "+++ exited with 0 +++"
	if l.file == nil && l.s.term != nil && l.s.term.isRaw() {
		b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	for len(b) > 0 && l.err == nil {
		n, err := unix.Write(l.fd, b)
		switch err {
		case nil:
			b = b[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			unix.Poll([]unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLOUT}}, -1)
		default:
			l.err = err
		}
	}
	l.buf = l.buf[:0]
}

// reportMissed reports the events that were overwritten before they were shown. Those of a stream
// with a log are in the log.
func (l *live) reportMissed() {
	st, err := l.s.stream.PeekStatus()
	if err != nil || st.Lost == 0 || l.s.plan.log != "" || l.err != nil {
		return
	}
	r, err := l.s.stream.Reader()
	if err != nil {
		return
	}
	defer r.Close()
	var c posixtrace.Counts
	for err == nil {
		err = r.Count(&c)
	}
	total := st.Lost
	for t := range c.Types() {
		if t.ID != posixtrace.EventOverflow && t.ID != posixtrace.EventResume {
			total += t.Events
		}
	}
	if err == io.EOF && total > l.count {
		l.s.env.NoteHint("--live did not show "+cli.Plural(total-l.count, "event", "events")+", recorded faster than written",
			"select fewer with -e, or record all with -o")
	}
}
