package dump

import (
	"errors"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/symbols"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// withSymbols reports whether the output has names of addresses.
func withSymbols(args *cli.Args) bool {
	return args.Has("symbols") || strings.Contains(strings.ReplaceAll(args.Value("format"), "%%", ""), "%s")
}

// nameAddresses makes the forms show names of addresses.
func (in *input) nameAddresses(table *symbols.Table, opt *options) {
	sel := &opt.sel
	s := symbols.NewSpaces(table)
	in.spaces = s
	in.readMaps(opt.follow)
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
		if errors.Is(err, symbols.ErrUnknown) && in.readMapsAgain(opt.follow) {
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
func (in *input) readMapsAgain(follow bool) bool {
	s, ok := in.source.(*consumedStream)
	now := time.Now()
	if !ok || now.Before(s.reread) {
		return false
	}
	in.readMaps(follow)
	s.reread = nextSnapshot(now)
	return true
}

// readMaps reads the events proc.map, and the mappings that processes have noted, of an input that can
// be read more than once: the listing may skip them.
func (in *input) readMaps(follow bool) {
	var open func() (*posixtrace.Reader, error)
	switch s := in.source.(type) {
	case *consumedStream:
		open = s.stream.Reader
	case rereadable:
		if follow {
			return
		}
		open = s.open
	default:
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
