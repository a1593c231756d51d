package posixtrace

import (
	"cmp"
	"io"
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// WriteLog writes the events that r reports from here on as a finished log to w. If keep is not
// nil, WriteLog writes only the events for which keep returns true; it also asks keep about the mappings
// that traced processes have noted (Selection.Mappings). The new log has the attributes,
// origin, event types and status of the old one, and the log-full-policy PolicyAppend. WriteLog
// needs constant memory, and w need not be seekable. Of an unfinished or damaged log it writes the
// sound part, reports the rest in the log-overrun-status of the new log, and State reports it
// afterwards. Errors: those of r.Next and of w. Extension.
func (r *Reader) WriteLog(w io.Writer, keep func(*Record) bool) error {
	const op = "WriteLog"
	if r.closed {
		return fail(op, errReaderClosed, syscall.EINVAL)
	}
	log, err := tracelog.CreateForward(w, r.super())
	if err != nil {
		return fail(op, err, syscall.EIO)
	}
	var known event.Set
	types := func() error {
		var defs []tracelog.TypeDef
		all, err := r.EventTypes()
		if err != nil {
			return err
		}
		for _, t := range all {
			if id := event.ID(t.ID); !known.Has(id) {
				known.Add(id)
				defs = append(defs, tracelog.TypeDef{ID: id, Name: t.Name})
			}
		}
		return log.Types(defs)
	}
	batch := tracelog.NewBatch(log)
	var waitErr error
	if r.log != nil {
		// Flush before waiting for input, for a reader that follows the new log.
		r.log.OnWait = func() { waitErr = cmp.Or(waitErr, batch.Flush()) }
		defer func() { r.log.OnWait = nil }()
	}
	defer r.collectMaps()()
	for {
		rec, err := r.Next()
		if waitErr != nil {
			return fail(op, waitErr, syscall.EIO)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		for m := r.rec.Maps; m != nil; m = m.Next {
			var note Record
			if r.set(&note, mapRecord(m), rec.UnixNano); keep == nil || keep(&note) {
				batch.Note(m)
			}
		}
		if !r.selects(event.ID(rec.ID)) || keep != nil && !keep(rec) {
			continue
		}
		if !known.Has(event.ID(rec.ID)) {
			if err := types(); err != nil {
				return fail(op, err, syscall.EIO)
			}
			known.Add(event.ID(rec.ID)) // a type without a name
		}
		err = batch.Add(&chunk.Record{
			Tick: uint64(max(rec.UnixNano, 0)), Addr: rec.Address, Event: event.ID(rec.ID),
			PID: uint32(rec.PID), TID: uint32(rec.TID), Truncated: rec.Truncation != TruncationNone, Data: rec.Data,
			Span: rec.Span, Parent: rec.Parent,
		})
		if err != nil {
			return fail(op, err, syscall.EIO)
		}
	}
	if err := batch.Flush(); err != nil {
		return fail(op, err, syscall.EIO)
	}
	if err := types(); err != nil {
		return fail(op, err, syscall.EIO)
	}
	return fail(op, log.Seal(r.endStatus(), false), syscall.EIO)
}

// collectMaps makes the reader find the notes on mappings, without reporting them, until the function
// that it returns is called.
func (r *Reader) collectMaps() (end func()) {
	defer runtime.KeepAlive(r)
	sel := r.sel.Mappings
	r.reportMaps(true)
	r.sel.Mappings = false
	if r.mem != nil {
		r.mem.ReportMaps()
	}
	return func() { r.reportMaps(sel) }
}

// super returns the superblock of the new log.
func (r *Reader) super() *tracelog.Super {
	a, o := r.Attr(), r.Origin()
	stored := attr.FromPublic(&a)
	stored.ClockResolution, stored.LogFullPolicy = max(stored.ClockResolution, 1), tracelog.Append
	return &tracelog.Super{
		Attributes: stored, Clock: tracelog.ClockNanos, ChunkSize: chunk.MaxSize,
		PID: uint32(o.PID), Owner: uint32(o.Owner),
		Host: o.Host, BootID: o.BootID, Command: o.Command,
	}
}

// endStatus returns the status at the end of the new log.
func (r *Reader) endStatus() tracelog.Status {
	s := r.Status()
	state, _ := r.State()
	return tracelog.Status{
		Full: s.StreamFullStatus == StatusFull, Overrun: s.StreamOverrunStatus == StatusOverrun,
		FlushError: uint32(s.StreamFlushError),
		LogOverrun: s.LogOverrunStatus == StatusOverrun || state == LogUnfinished || state == LogDamaged,
		LogFull:    s.LogFullStatus == StatusFull, Lost: s.Lost, LogLost: s.LogLost,
	}
}
