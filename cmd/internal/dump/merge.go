package dump

import (
	"context"
	"io"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// merge reads several inputs as one, in order of time.
type merge struct {
	env    *cli.Env
	inputs []*input
	heads  []*posixtrace.Record // next event of each input; nil for none
	latest int                  // input of the previous event; -1 at first

	// For followed inputs:
	follow bool
	out    *sink // flushed before it waits
	ended  []bool
	since  []time.Time // when each head was read
}

func newMerge(env *cli.Env, inputs []*input, follow bool, out *sink) *merge {
	n := len(inputs)
	return &merge{env: env, inputs: inputs, follow: follow, out: out, latest: -1,
		heads: make([]*posixtrace.Record, n), ended: make([]bool, n), since: make([]time.Time, n)}
}

// next returns the next event and its input, or io.EOF at the end of all inputs. It reports
// read errors and continues without the input.
func (m *merge) next(ctx context.Context) (*input, *posixtrace.Record, error) {
	if len(m.inputs) == 1 {
		rec, err := m.inputs[0].next(ctx)
		if err != nil && err != io.EOF && err != errTimeout {
			m.env.Warn(cli.Failure(m.inputs[0].name, err))
			err = io.EOF
		}
		return m.inputs[0], rec, err
	}
	if m.follow {
		return m.nextFollowed(ctx)
	}
	for i, in := range m.inputs {
		if m.latest >= 0 && m.latest != i {
			continue
		}
		rec, err := in.next(ctx)
		if err != nil && err != io.EOF {
			m.env.Warn(cli.Failure(in.name, err))
		}
		m.heads[i] = rec
		if err != nil {
			m.heads[i] = nil
		}
	}
	if m.latest = m.earliest(); m.latest < 0 {
		m.latest = len(m.inputs) // nothing left to read
		return nil, nil, io.EOF
	}
	return m.inputs[m.latest], m.heads[m.latest], nil
}

// earliest returns the input with the earliest head, or -1.
func (m *merge) earliest() int {
	first := -1
	for i, rec := range m.heads {
		if rec != nil && (first < 0 || rec.UnixNano < m.heads[first].UnixNano) {
			first = i
		}
	}
	return first
}
