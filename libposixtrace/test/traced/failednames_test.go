package traced

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// secrets makes a stream of the test process's family that rejects all names that begin with secret.
func secrets(t *testing.T) *posixtrace.Stream {
	t.Helper()
	s := inherited(t)
	err := s.FilterOps([]posixtrace.FilterOp{{How: posixtrace.FilterAdd, Patterns: []string{"secret*"}}})
	tracetest.OK(t, "FilterOps", err)
	return s
}

// public checks that a new name of the peer has an id of its own, that the filter accepts it, and that its
// event is recorded.
func public(t *testing.T, s *posixtrace.Stream, p *peer, name string) {
	t.Helper()
	id := posixtrace.EventID(p.number("open %s", name))
	if id < posixtrace.EventUnnamed || id.Unnamed() {
		t.Errorf("the id of %s is %d", name, int32(id))
		return
	}
	f, err := s.Filter()
	tracetest.OK(t, "Filter", err)
	p.done("event %d 1", id)
	if list := events(t, s); f.Has(id) || len(list) != 1 || list[0].name != name {
		t.Errorf("the filter rejects %s: %v; recorded: %v", name, f.Has(id), list)
	}
}

// A name that cannot be registered leaves nothing behind: no type in the filter of a stream, which would
// reject the next name, and no place among the names of the process.
func TestFailedNameLeavesNothing(t *testing.T) {
	native(t)
	for language, cmd := range languages {
		t.Run(language, func(t *testing.T) {
			s := secrets(t)
			p := startCommand(t, cmd(t))
			first := p.number("open first %s", language)
			for _, n := range []int{1, posixtrace.UserEventMax + 10} {
				before, err := s.Filter()
				tracetest.OK(t, "Filter", err)
				if failed := p.number("fail %d secret.%s.%d", n, language, n); failed != n {
					t.Errorf("%d of %d names failed", failed, n)
				}
				after, err := s.Filter()
				tracetest.OK(t, "Filter", err)
				if before != after {
					t.Errorf("%d names that failed have changed the filter", n)
				}
				public(t, s, p, fmt.Sprint("public.", language, ".", n))
			}
			if id := p.number("open secret.%s", language); id <= first {
				t.Errorf("the id of the last name is %d", id)
			}
			p.end()
		})
	}
}

// The same for a process that is killed, or whose write fails, at each step of a registration.
func TestNameCutShortAtEachStep(t *testing.T) {
	native(t)
	tracetest.NeedProgram(t, "strace")
	for language, victim := range languages {
		for _, how := range []string{"error=ENOSPC", "signal=KILL"} {
			for other, cmd := range languages {
				t.Run(fmt.Sprintf("%s %s, then %s", language, how, other), func(t *testing.T) {
					s := secrets(t)
					p := startCommand(t, cmd(t))
					for step, over := 1, false; !over; step++ {
						run := victim(t)
						inject := fmt.Sprintf("inject=pwrite64:%s:when=%d", how, step)
						traced := exec.Command("strace", append([]string{"-f", "-o", "/dev/null", "-e", inject}, run.Args...)...)
						traced.Env = run.Env
						v := startCommand(t, traced)
						name := fmt.Sprintf("%s.%s.%s.%d", language, how, other, step)
						fmt.Fprintf(v.in, "open secret.%s\n", name)
						line, _ := v.out.ReadString('\n')
						over = line != "" && line[0] != '-'
						v.in.Close()
						v.cmd.Wait()
						v.over = true
						if step == 1 && over {
							t.Logf("the program says %q", line)
							tracetest.Need(t, false, "strace that may trace")
						}
						public(t, s, p, "public."+name)
						if step > 10 {
							t.Fatal("a registration makes more than ten writes")
						}
					}
					p.end()
				})
			}
		}
	}
}
