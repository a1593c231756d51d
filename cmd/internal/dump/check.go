package dump

import (
	"context"
	"io"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// check reads all events and reports damage.
func check(env *cli.Env, inputs []*input) error {
	for _, in := range inputs {
		p := newProgress(env, []*input{in}, false)
		last := int64(-1 << 63)
		for {
			rec, err := in.next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				env.Warn(cli.Failure(in.name, err))
				break
			}
			p.Add(1, rec.UnixNano)
			if rec.UnixNano < last {
				env.Warn(cli.Failf("%s: events are out of order", in.name))
				break
			}
			last = rec.UnixNano
		}
		p.Clear()
		env.Warn(in.soundness())
	}
	return nil
}
