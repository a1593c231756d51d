package script_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// race starts n commands at the same time, with @ in their arguments replaced by the number
// of the command. It returns the first line of output of each command that printed one, and
// the errors of the others. done ends their standard input and waits for them.
func (h *crashes) race(n int, args ...string) (ok, refused []string, done func()) {
	h.t.Helper()
	in, end, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	var mu sync.Mutex
	var first, all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		cmd := h.command(args...)
		for a := range cmd.Args {
			cmd.Args[a] = strings.ReplaceAll(cmd.Args[a], "@", strconv.Itoa(i))
		}
		cmd.Stdin = in
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			h.t.Fatal(err)
		}
		first.Add(1)
		all.Go(func() {
			<-begin
			if err := cmd.Start(); err != nil {
				h.t.Error(err)
				first.Done()
				return
			}
			r := bufio.NewReader(out)
			line, _ := r.ReadString('\n')
			if line == "" {
				cmd.Wait()
			}
			mu.Lock()
			if line != "" {
				ok = append(ok, strings.TrimSuffix(line, "\n"))
			} else {
				refused = append(refused, errs.String())
			}
			mu.Unlock()
			first.Done()
			if line != "" {
				io.Copy(io.Discard, r)
				cmd.Wait()
			}
		})
	}
	close(begin)
	first.Wait()
	in.Close()
	return ok, refused, func() { end.Close(); all.Wait() }
}

// Of several commands that create a stream of one name at the same time exactly one
// succeeds, and the name works afterwards. Without a name all succeed, with different
// names.
func TestNameRace(t *testing.T) {
	h := newCrashes(t)
	pid := strconv.Itoa(os.Getpid())
	const n = 4
	for round := range tracetest.Scale(20, 300, 3000) {
		name := fmt.Sprintf("one-%d", round)
		args := []string{"ptrace-create", "--stream-size=4K", "-p", pid, name}
		run, unnamed := false, false
		switch round % 10 {
		case 3: // a keeper creates the stream
			args = slices.Insert(args, 1, "-o", fmt.Sprintf("%s/%d-@.trace", h.dir, round))
		case 6:
			run = true
			args = []string{"ptrace-run", "--stream-size=4K", "-n", name, "--", "sh", "-c", "echo " + name + "; read x"}
		case 9:
			unnamed = true
			args = args[:len(args)-1]
		}
		ok, refused, done := h.race(n, args...)
		switch {
		case unnamed:
			slices.Sort(ok)
			if got := len(slices.Compact(slices.Clone(ok))); got != n {
				t.Fatalf("round %d: %d commands made streams %q, and reported %q", round, n, ok, refused)
			}
		case len(ok) != 1 || ok[0] != name:
			t.Fatalf("round %d: %d of %d commands %q succeeded; the others reported %q", round, len(ok), n, args, refused)
		}
		for _, text := range refused {
			if want := args[0] + ": " + name + ": name in use\nhint: `ptrace-ctl shutdown " + name + "` ends that stream\n"; text != want {
				t.Fatalf("round %d: a command reported %q, not %q", round, text, want)
			}
		}
		for _, name := range ok {
			h.output("ptrace-ctl", "status", name)
			if !run {
				h.output("ptrace-ctl", "shutdown", name)
			}
		}
		done()
	}
	h.nothingLeft()
}
