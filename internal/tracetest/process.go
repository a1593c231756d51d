package tracetest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Child is a running helper, with which a test exchanges lines.
type Child struct {
	T   *testing.T
	Cmd *exec.Cmd
	In  *os.File
	Out *bufio.Reader
	PID int
}

// Start starts a helper, which ends with the test.
func Start(t *testing.T, helper string, args ...string) *Child {
	t.Helper()
	c, err := StartAs(t, nil, helper, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// StartAs starts a helper with process attributes. It fails if the system refuses them.
func StartAs(t *testing.T, attr *syscall.SysProcAttr, helper string, args ...string) (*Child, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), HelperVar+"="+helper, Quick)
	return StartCommand(t, cmd)
}

// StartCommand starts any program that obeys lines.
func StartCommand(t *testing.T, cmd *exec.Cmd) (*Child, error) {
	t.Helper()
	cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Close()
		w.Close()
		return nil, err
	}
	r.Close()
	c := &Child{T: t, Cmd: cmd, In: w, Out: bufio.NewReader(out), PID: cmd.Process.Pid}
	t.Cleanup(func() {
		w.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return c, nil
}

// Line reads a line of the child's output.
func (c *Child) Line() string {
	c.T.Helper()
	l, err := c.Out.ReadString('\n')
	if err != nil {
		c.T.Fatalf("child says %q, %v", l, err)
	}
	return strings.TrimSuffix(l, "\n")
}

// Say sends a line and waits for the answer "done".
func (c *Child) Say(line string) {
	c.T.Helper()
	fmt.Fprintln(c.In, line)
	if l := c.Line(); l != "done" {
		c.T.Fatalf("child says %q", l)
	}
}

// Ask sends a line and returns the answer.
func (c *Child) Ask(format string, args ...any) string {
	c.T.Helper()
	fmt.Fprintf(c.In, format+"\n", args...)
	return c.Line()
}

// RunHelper runs a helper to its end; its whole output must be ok.
func RunHelper(t *testing.T, attr *syscall.SysProcAttr, helper string, args ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), HelperVar+"="+helper, Quick)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil || string(bytes.TrimSpace(out)) != "ok" {
		t.Fatalf("%s: %v\n%s", helper, err, out)
	}
}

// Check is for helpers: it ends the process with a message unless ok.
func Check(ok bool, format string, args ...any) {
	if !ok {
		fmt.Printf(format+"\n", args...)
		os.Exit(1)
	}
}

// Target returns the helper of a process that registers nothing and uses no stream until a
// test asks. It prints its number. Each line of standard input is the name of an event and
// its data; the helper passes that trace point and answers. A number and an asterisk
// before the name repeat it. open and record are OpenEventID and Event.
func Target[ID any](open func(name string) (ID, error), record func(id ID, data []byte)) func(args []string) {
	return func([]string) {
		fmt.Println(os.Getpid())
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			line, times := in.Text(), 1
			if n, rest, ok := strings.Cut(line, "*"); ok {
				times, _ = strconv.Atoi(n)
				line = rest
			}
			name, data, _ := strings.Cut(line, " ")
			id, err := open(name)
			if err != nil {
				fmt.Println("error", err)
				continue
			}
			for range times {
				record(id, []byte(data))
			}
			fmt.Println("done")
		}
	}
}

// Pass returns the helper of a process that passes one trace point: its arguments are the
// name and the data.
func Pass[ID any](open func(name string) (ID, error), record func(id ID, data []byte)) func(args []string) {
	return func(args []string) {
		id, err := open(args[0])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		record(id, []byte(strings.Join(args[1:], " ")))
	}
}
