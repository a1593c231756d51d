package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// lines times the reading of captured lines beside events of the peer with the same strings.
func (b *bench) lines() *group {
	n := b.pick(10e6, 3e6)
	count := strconv.Itoa(n)
	ours, theirs := b.file("lines"), b.file("lines.ctf")
	timed := func(key string, argv ...string) func(series) error {
		return func(s series) error {
			r, err := command(os.DevNull, argv...)
			if err == nil {
				s.put(key, float64(n)/r.wall)
			}
			return err
		}
	}
	read := timed("theirs", b.pinned("babeltrace2", theirs)...)
	return &group{
		rounds: 3,
		setup: func() error {
			if _, err := command(os.DevNull, b.tool("ptrace-run"), "-c", "-o", ours, "--", "seq", count); err != nil {
				return err
			}
			if b.noLT != nil {
				return nil
			}
			t, err := b.lttng.start(nil, "--discard", "--subbuf-size=2M", "--num-subbuf=8")
			if err != nil {
				return err
			}
			_, err = numbers(2, b.lttngTarget("lines", count, strconv.Itoa(burst), strconv.Itoa(pause))...)
			_, stopped := t.stop()
			return errors.Join(err, stopped, t.destroy(), os.Rename(t.out, theirs))
		},
		items: []*item{{name: fmt.Sprintf("dump %.0f million captured lines as text to /dev/null, one core", float64(n)/1e6), unit: rate,
			oursKey: "ours", theirsKey: "theirs", peer: "babeltrace2, events with the same strings", bar: least(20)}},
		steps: []func(series) error{
			timed("ours", b.pinned(b.tool("ptrace-dump"), ours)...),
			func(s series) error {
				if b.noLT != nil {
					return b.noLT
				}
				return read(s)
			},
		},
		end: func(series) error {
			defer os.RemoveAll(theirs)
			defer os.Remove(ours)
			lost, err := b.lost(ours)
			if err == nil && lost > 0 {
				err = fmt.Errorf("%.0f lines were lost", lost)
			}
			got, err2 := counted(theirs)
			if err2 == nil && got != n {
				err2 = fmt.Errorf("the peer has %d of %d events", got, n)
			}
			return errors.Join(err, err2)
		},
	}
}
