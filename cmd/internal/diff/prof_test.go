package diff

import (
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/compare"
)

func BenchmarkDiff(b *testing.B) {
	opt := &options{Options: compare.Options{Percent: 10, Least: 5e7}}
	for b.Loop() {
		env := cli.NewEnv([]string{"x"})
		logs, err := openLogs(env, [2][]string{{"/dev/shm/d6/m1"}, {"/dev/shm/d6/m2"}})
		if err != nil {
			b.Fatal(err)
		}
		readAll(env, logs, opt)
		compare.Compare(&opt.Options, []*compare.Run{logs[0][0].run}, []*compare.Run{logs[1][0].run})
		closeLogs(logs)
	}
}
