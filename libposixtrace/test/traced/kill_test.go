package traced

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// Programs that connect, register names and record are killed at any moment. The others agree on the
// names, what is in the stream is whole, slots and chunks of the dead are used again, and their
// unfinished files go.
func TestKilledAnywhere(t *testing.T) {
	program := ctest.C(t, "testdata/names.c")
	s := inherited(t)
	witness := startPeer(t)
	id := witness.number("open witness")
	kills := tracetest.Scale(150, 1000, 20000)
	recorded := 0
	for i := range kills {
		cmd := command(t, program, "400", fmt.Sprint(i%7), "record")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.N(5000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		witness.done("event %d 3", id)
		recorded += 3
		if i%10 != 0 {
			continue
		}
		for _, e := range events(t, s) {
			switch {
			case e.PID == witness.pid:
				recorded--
			case e.name == "" || e.name != e.data:
				t.Fatalf("the data of an event of type %q are %q", e.name, e.data)
			}
		}
	}
	for _, e := range events(t, s) {
		if e.PID == witness.pid {
			recorded--
		}
	}
	if recorded != 0 {
		t.Errorf("%d events of the witness are missing", recorded)
	}
	none(t, s)
	if out, err := command(t, program, "400", "3", "record").Output(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	witness.end()
	s.Shutdown()
	create(t, 0, nil).Shutdown() // the first stream of a directory sweeps it
	if left, _ := filepath.Glob(traceDir(t) + "/t-*"); len(left) > 0 {
		t.Errorf("unfinished files: %q", left)
	}
}
