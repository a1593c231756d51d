package posixtrace

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

func init() {
	// newprogram: owns a stream with log and executes another program, which writes to it
	tracetest.Helpers["newprogram"] = func(args []string) {
		f, err := os.Create(args[0])
		tracetest.Check(err == nil, "%v", err)
		s, err := CreateWithLog(0, midwayAttr(PolicyUntilFull), f)
		tracetest.Check(err == nil, "%v", err)
		tracetest.Check(s.Start() == nil, "Start")
		os.Setenv(tracetest.HelperVar, "newprogram writes")
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
		tracetest.Check(false, "%v", err)
	}
	tracetest.Helpers["newprogram writes"] = func([]string) {
		id, err := OpenEventID("newprogram")
		tracetest.Check(err == nil, "%v", err)
		data := make([]byte, midwayData)
		for i := range uint64(5) {
			binary.LittleEndian.PutUint64(data, i+1)
			Event(id, data)
		}
		streams := tracee.Self.Table.Load().Streams
		tracetest.Check(len(streams) == 1 && streams[0].Writer.LeaveBusy(), "%d streams", len(streams))
		fmt.Println("midway")
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(streams[0].Conn.Mem.Busy())
		}
	}
}

// The owner of a stream executes another program, which writes to the stream, and is stopped in the middle
// of an event when another process completes the log. It lives: the log has its events, and the control word
// of its chunk stays, so that it ends that event without harm.
func TestOwnersNewProgramIsAlive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.trace")
	c := tracetest.Start(t, "newprogram", path)
	if l := c.Line(); l != "midway" {
		t.Fatalf("the program says %q", l)
	}
	list, err := List()
	tracetest.OK(t, "List", err)
	if slices.ContainsFunc(list, func(i StreamInfo) bool { return i.LogPath == path }) {
		t.Fatal("the stream of a program that is no more is active")
	}
	checkComplete(t, path, 5)
	if l := c.Ask("busy"); l != "1" {
		t.Errorf("%s chunks of the program are busy, not 1", l)
	}
}
