package posixtrace

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func init() {
	// reader-execs: executes another program in the middle of its reads of the stream
	// args[0]. That program reads, too, if args[1] says so, and stays.
	tracetest.Helpers["reader-execs"] = func(args []string) {
		s, err := Attach(args[0])
		tracetest.Check(err == nil, "Attach: %v", err)
		read := make(chan bool, 100)
		for range 2 {
			go func() {
				for buf := make([]byte, 100); ; {
					s.TryNext(buf)
					select {
					case read <- true:
					default:
					}
				}
			}()
		}
		for range cap(read) {
			<-read
		}
		os.Setenv(tracetest.HelperVar, "reader-stays")
		err = syscall.Exec(os.Args[0], os.Args, os.Environ())
		tracetest.Check(false, "exec: %v", err)
	}
	tracetest.Helpers["reader-stays"] = func(args []string) {
		if args[1] == "reads" {
			s, err := Attach(args[0])
			tracetest.Check(err == nil, "Attach: %v", err)
			buf := make([]byte, 100)
			for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
				if _, _, err = s.TryNext(buf); err == nil {
					break
				}
				tracetest.Check(errors.Is(err, ErrUnavailable) && time.Now().Before(deadline), "TryNext: %v", err)
			}
			s.Close()
		}
		fmt.Println("stays")
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
}

// A process that executes another program in the middle of a read frees the readers' lock,
// although it lives on under the same number.
func TestExecFreesReaderLock(t *testing.T) {
	s := running(t, 0, Attr{})
	info, err := s.Info()
	tracetest.OK(t, "Info", err)
	id, err := OpenEventID("reader.lock")
	tracetest.OK(t, "OpenEventID", err)
	buf := make([]byte, 100)
	for round := range 6 {
		who := []string{"idles", "reads"}[round%2]
		c := tracetest.Start(t, "reader-execs", info.Path, who)
		stays := make(chan string)
		go func() {
			l, _ := c.Out.ReadString('\n')
			stays <- l
		}()
		said := ""
		for deadline := time.Now().Add(40 * time.Second); said == ""; {
			Event(id, []byte("for the other"))
			select {
			case said = <-stays:
			case <-time.After(time.Millisecond):
				if time.Now().After(deadline) {
					t.Fatalf("round %d: the other does not read", round)
				}
			}
		}
		if said != "stays\n" {
			t.Fatalf("round %d: the other says %q", round, said)
		}
		Event(id, []byte("for us"))
		tracetest.Wait(t, "an event of a stream whose reader has executed another program", func() bool {
			_, _, err := s.TryNext(buf)
			return err == nil
		})
		fmt.Fprintln(c.In)
	}
}
