package traced

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The helper in Go obeys some of the lines of testdata/peer.c, and answers in the same words.
func init() {
	tracetest.Helpers["peer"] = func([]string) {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			verb, rest, _ := strings.Cut(in.Text(), " ")
			obey(verb, rest)
		}
	}
}

// open returns what the peer says of a name.
func open(name string) int {
	id, err := posixtrace.OpenEventID(name)
	var no syscall.Errno
	if errors.As(err, &no) {
		return -int(no)
	}
	return int(id)
}

var opened = make(chan int, 1)

func obey(verb, rest string) {
	switch verb {
	case "open":
		fmt.Println(open(rest))
	case "longest":
		var id posixtrace.EventID
		var ms int
		fmt.Sscan(rest, &id, &ms)
		var longest time.Duration
		n := 0
		for end := time.Now().Add(time.Duration(ms) * time.Millisecond); time.Now().Before(end); n++ {
			before := time.Now()
			posixtrace.Event(id, []byte("long"))
			longest = max(longest, time.Since(before))
			time.Sleep(100 * time.Microsecond)
		}
		fmt.Println(longest.Microseconds(), n)
	case "beside":
		started := make(chan struct{})
		go func() {
			close(started)
			opened <- open(rest)
		}()
		<-started
		fmt.Println("done")
	case "opened":
		fmt.Println(<-opened)
	case "event":
		var id, n uint32
		fmt.Sscan(rest, &id, &n)
		for i := range n {
			posixtrace.Event(posixtrace.EventID(id), binary.LittleEndian.AppendUint32(nil, i))
		}
		fmt.Println("done")
	case "fail":
		var n, failed int
		var name string
		fmt.Sscan(rest, &n, &name)
		signal.Ignore(syscall.SIGXFSZ)
		var all syscall.Rlimit
		syscall.Getrlimit(syscall.RLIMIT_FSIZE, &all)
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1, Max: all.Max})
		for i := range n {
			if _, err := posixtrace.OpenEventID(fmt.Sprintf("%s.%d", name, i)); err != nil {
				failed++
			}
		}
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &all)
		fmt.Println(failed)
	default:
		fmt.Println(verb + "?")
	}
}

// languages are the commands that start a peer, by language.
var languages = map[string]func(t testing.TB) *exec.Cmd{
	"C": func(t testing.TB) *exec.Cmd { return command(t, ctest.C(t, "testdata/peer.c")) },
	"Go": func(t testing.TB) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=peer", tracetest.Quick)
		cmd.Stderr = os.Stderr
		return cmd
	},
}
