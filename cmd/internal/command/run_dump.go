package command

import (
	"io"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// dumpLast prints the last events of the stream to standard error, in one write.
func (s *session) dumpLast() error {
	if s.plan.last == 0 {
		return nil
	}
	r, err := s.stream.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	var last []posixtrace.Record // a ring once it is full
	var base int64
	n := 0
	for ; ; n++ {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if n == 0 {
			base = rec.UnixNano
		}
		if len(last) < s.plan.last {
			last = append(last, posixtrace.Record{})
		}
		slot := &last[n%s.plan.last]
		slot.EventInfo = rec.EventInfo
		slot.Data = append(slot.Data[:0], rec.Data...)
	}
	if n == 0 {
		return nil
	}
	b := []byte(s.env.prog + ": last " + strconv.Itoa(len(last)) + " of " + countOf(uint64(n), "event", "events") + ":\n")
	form := &output.Text{Base: base}
	src := output.NewSource(r.EventName)
	for i := range last {
		at := i
		if n > len(last) {
			at = (n + i) % len(last)
		}
		b = form.Append(b, src, &last[at])
	}
	_, err = s.env.Stderr.Write(b)
	return err
}
