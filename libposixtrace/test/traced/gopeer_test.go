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

func obey(verb, rest string) {
	switch verb {
	case "open":
		id, err := posixtrace.OpenEventID(rest)
		var no syscall.Errno
		if errors.As(err, &no) {
			fmt.Println(-int(no))
			return
		}
		fmt.Println(uint32(id))
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
