package posixtrace

import (
	"flag"
	"fmt"
	"strconv"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"pgregory.net/rapid"
)

// The model test runs random schedules of controllers, traced processes and analyzers,
// several of each, threads and processes, against the package and against a model of the
// standard. Each operation waits for the end of the previous one, so the model knows its
// result.
//
//	model_standard_test.go  the model: the standard as plain lists
//	model_ops_test.go       the operations of a schedule
//	model_trial_test.go     a real stream beside that of the model
//	model_log_test.go       what is in a log
//	model_peers_test.go     the other processes
//	model_cast_test.go      which of them a test has, in C or in Go
//	model_parallel_test.go  schedules whose actors all run at once

func TestModel(t *testing.T) {
	defer modelFlags(tracetest.Scale(1500, 10000, 10000))()
	model(t, goCast(t, 2))
}

// In each schedule the controllers, traced processes, their children and the analyzers of logs are in
// C or in Go.
func TestModelInC(t *testing.T) {
	defer modelFlags(tracetest.Scale(500, 5000, 10000))()
	model(t, mixedCast(t, 2))
}

func model(t *testing.T, c *cast) {
	rapid.Check(t, func(r *rapid.T) {
		var trials []*trial
		defer func() {
			for _, x := range trials {
				x.end(r)
			}
		}()
		for _, w := range c.workers {
			w.kid, w.seq = 0, 0
		}
		actions := map[string]func(*rapid.T){}
		for i := range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(r, "streams") {
			x := newTrial(r, c.workers[rapid.IntRange(0, len(c.workers)-1).Draw(r, "target")], c)
			trials = append(trials, x)
			for name, f := range x.ops(&trials) {
				actions[fmt.Sprint(name, i)] = f
			}
		}
		if rapid.IntRange(0, c.childless).Draw(r, "child") == c.childless {
			c.child(r, trials[0].worker)
		}
		r.Repeat(actions)
		for _, x := range trials {
			x.finish(r)
		}
	})
}

// modelFlags has the test run that many schedules, the same ones every time. Asked for a
// number of them with -rapid.checks, as scripts/extra/soak does, the test chooses new schedules and
// prints the seed of a failure.
func modelFlags(schedules int) (restore func()) {
	if testing.Short() || tracetest.RaceEnabled {
		schedules = min(schedules, 500)
	}
	checks, seed := flag.Lookup("rapid.checks"), flag.Lookup("rapid.seed")
	if checks.Value.String() != checks.DefValue {
		return func() {}
	}
	old := seed.Value.String()
	checks.Value.Set(strconv.Itoa(schedules))
	if old == seed.DefValue {
		seed.Value.Set("20261120")
	}
	return func() {
		checks.Value.Set(checks.DefValue)
		seed.Value.Set(old)
	}
}
