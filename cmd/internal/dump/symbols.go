package dump

import (
	"errors"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/symbols"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// withSymbols reports whether the output has names of addresses.
func withSymbols(args *cli.Args) bool {
	return args.Has("symbols") || strings.Contains(strings.ReplaceAll(args.Value("format"), "%%", ""), "%s")
}

// nameAddresses makes the forms show names of addresses.
func (in *input) nameAddresses(table *symbols.Table, sel *selects) {
	s := symbols.NewSpaces(table)
	in.spaces = s
	in.readMaps()
	if sel.stacks {
		in.src.SetFrames(s.Name)
	}
	if !sel.symbols {
		return
	}
	in.src.SetSymbols(func(rec posixtrace.Record) (where, source string, err error) {
		// A call returns to the instruction after it. A signal interrupts the instruction at the address.
		exact := rec.ID == posixtrace.EventProcSignal || rec.ID == posixtrace.EventProcExec
		where, source, err = s.Name(rec.PID, rec.UnixNano, rec.Address, !exact)
		if errors.Is(err, symbols.ErrUnknown) && in.reader == nil && in.readMapsAgain() {
			where, source, err = s.Name(rec.PID, rec.UnixNano, rec.Address, !exact)
		}
		if errors.Is(err, symbols.ErrUnknown) && (rec.ID == posixtrace.EventProcExec || rec.ID < posixtrace.EventProcFork) {
			return "", "", nil // the address of a program's start, or of a command of this module, says little
		}
		return where, source, err
	})
}

// readMapsAgain reads what processes have noted of their mappings in a stream whose events are consumed.
// Only a snapshot of the stream has the notes. It returns false if the last one is too recent.
func (in *input) readMapsAgain() bool {
	now := time.Now()
	if now.Before(in.nextSnapshot) {
		return false
	}
	in.readMaps()
	in.nextSnapshot = time.Now().Add(max(snapshotEvery, snapshotShare*time.Since(now)))
	return true
}

// readMaps reads the events proc.map, and the mappings that processes have noted, of an input that can
// be read more than once: the listing may skip them.
func (in *input) readMaps() {
	open := in.open
	switch {
	case in.reader == nil:
		open = in.stream.Reader
	case in.follow || !in.seekable():
		return
	}
	r, err := open()
	if err != nil {
		return // the listing reports it
	}
	defer r.Close()
	var types posixtrace.EventSet
	types.Add(posixtrace.EventProcMap)
	r.Select(posixtrace.Selection{Types: &types, Mappings: true})
	var b posixtrace.Batch
	for err == nil { // the listing reports an error
		if err = r.NextBatch(&b); err == nil {
			for i := range b.Records {
				in.spaces.Note(&b.Records[i])
			}
		}
	}
}
