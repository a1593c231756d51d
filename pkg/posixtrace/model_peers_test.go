package posixtrace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// The peers of the model test: long-lived processes that take one operation a
// line and answer with one. A controller or analyzer in the test's own process
// takes the same lines, so that a schedule is the same for every actor. testdata/modelpeer.c is
// such a process in C.

func init() {
	// model-peer: a controller and analyzer of streams that another process has made.
	// "NUMBER attach PATH" attaches to a stream as NUMBER, "NUMBER close" closes it, any other
	// operation is performed on it. In C, "NUMBER create ..." makes a stream instead, and
	// "NUMBER open PATH" opens a log.
	tracetest.Helpers["model-peer"] = func(args []string) {
		streams := map[string]*Stream{}
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			n, op, _ := strings.Cut(in.Text(), " ")
			if path, ok := strings.CutPrefix(op, "attach "); ok {
				s, err := Attach(path)
				streams[n] = s
				fmt.Println(answer(err))
			} else {
				fmt.Println(operate(streams[n], op))
			}
		}
	}
	// worker: a traced process, which prints its pid. "TIMES NAME SIZE NUMBER THREAD" passes a trace
	// point that many times, with data that starts with NUMBER, NUMBER+1, ...; two of them
	// joined by " & " run at once; "spawn PROGRAM" starts a child, also a worker, and prints its pid, as
	// does "fork" in C, without a program; "child ..." is for the child.
	tracetest.Helpers["worker"] = func(args []string) {
		fmt.Println(os.Getpid())
		var kid *kid
		hands := []chan func(){make(chan func()), make(chan func())}
		for _, h := range hands {
			go func() {
				runtime.LockOSThread()
				for f := range h {
					f()
				}
			}()
		}
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			line := in.Text()
			if program, ok := strings.CutPrefix(line, "spawn "); ok {
				kid.end()
				kid = newKid(program)
				fmt.Println(kid.pid)
				continue
			}
			if line, ok := strings.CutPrefix(line, "child "); ok {
				fmt.Println(kid.say(line))
				continue
			}
			tasks := strings.Split(line, " & ")
			done := make(chan error, len(tasks))
			for _, task := range tasks {
				var times, size, seq, hand int
				var name string
				if _, err := fmt.Sscan(task, &times, &name, &size, &seq, &hand); err != nil {
					done <- err
					continue
				}
				hands[hand] <- func() {
					id, err := OpenEventID(name)
					for i := range times {
						Event(id, []byte(modelData(seq+i, size)))
					}
					done <- err
				}
			}
			var err error
			for range tasks {
				err = errors.Join(err, <-done)
			}
			if err != nil {
				fmt.Println("error", err)
			} else {
				fmt.Println("done")
			}
		}
		kid.end()
	}
}

// modelData is the data of event number seq: the number, padded.
func modelData(seq, size int) string {
	s := strconv.Itoa(seq)
	return s + strings.Repeat("x", max(size-len(s), 0))
}

// kid is a worker's child.
type kid struct {
	p   *os.Process
	in  *os.File
	out *bufio.Reader
	pid string
}

func newKid(program string) *kid {
	inR, inW, err := os.Pipe()
	if err == nil {
		var outR, outW *os.File
		if outR, outW, err = os.Pipe(); err == nil {
			k := &kid{in: inW, out: bufio.NewReader(outR)}
			k.p, err = os.StartProcess(program, []string{program, "worker"}, &os.ProcAttr{
				Env: append(os.Environ(), tracetest.HelperVar+"=worker"), Files: []*os.File{inR, outW, os.Stderr},
			})
			inR.Close()
			outW.Close()
			if err == nil {
				l, _ := k.out.ReadString('\n')
				k.pid = strings.TrimSpace(l)
				return k
			}
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
	return nil
}

func (k *kid) say(line string) string {
	fmt.Fprintln(k.in, line)
	l, err := k.out.ReadString('\n')
	if err != nil {
		return "error " + err.Error()
	}
	return strings.TrimSuffix(l, "\n")
}

func (k *kid) end() {
	if k != nil {
		k.in.Close()
		k.p.Wait()
	}
}

// refused is the answer to an operation that returns an error number.
func refused(no syscall.Errno) string { return fmt.Sprint("error ", int(no)) }

// answer is the reply to an operation that returns only an error.
func answer(err error) string {
	var no syscall.Errno
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &no):
		return refused(no)
	}
	return err.Error()
}

// operate performs one operation on a stream.
func operate(s *Stream, line string) string {
	op, rest, _ := strings.Cut(line, " ")
	switch op {
	case "start":
		return answer(s.Start())
	case "stop":
		return answer(s.Stop())
	case "clear":
		return answer(s.Clear())
	case "flush":
		return answer(s.Flush())
	case "shutdown":
		return answer(s.Shutdown())
	case "close":
		return answer(s.Close())
	case "filter": // HOW ID ...
		words := strings.Fields(rest)
		how, err := strconv.Atoi(words[0])
		var set EventSet
		for _, w := range words[1:] {
			id, e := strconv.Atoi(w)
			err = errors.Join(err, e)
			set.Add(EventID(id))
		}
		if err == nil {
			err = s.SetFilter(set, FilterHow(how))
		}
		return answer(err)
	case "status":
		return printStatus(s.Status())
	case "read": // at most so many
		return printEvents(rest, s.TryNext)
	}
	return "no operation " + op
}

// operateLog performs one operation on a log.
func operateLog(l *Log, line string) string {
	switch op, rest, _ := strings.Cut(line, " "); op {
	case "rewind":
		return answer(l.Rewind())
	case "close":
		return answer(l.Close())
	case "status":
		return printStatus(l.Status())
	case "read":
		return printEvents(rest, l.Next)
	default:
		return "no operation " + op
	}
}

// printStatus prints what the model knows of a status.
func printStatus(st Status, err error) string {
	if err != nil {
		return answer(err)
	}
	return fmt.Sprint(int(st.StreamStatus), " ", int(st.StreamFullStatus), " ", int(st.StreamOverrunStatus), " ",
		int(st.LogOverrunStatus), " ", int(st.LogFullStatus), " ", st.Lost, " ", st.LogLost)
}

// scanStatus is the reverse.
func scanStatus(line string) (st Status, err error) {
	_, err = fmt.Sscan(line, &st.StreamStatus, &st.StreamFullStatus, &st.StreamOverrunStatus,
		&st.LogOverrunStatus, &st.LogFullStatus, &st.Lost, &st.LogLost)
	return st, err
}

// printEvents prints so many events, or all until the end.
func printEvents(max string, next func([]byte) (EventInfo, int, error)) string {
	n, err := strconv.Atoi(max)
	if err != nil {
		return answer(err)
	}
	var b strings.Builder
	var buf [256]byte
	for range n {
		ev, n, err := next(buf[:])
		if err == ErrUnavailable || err == io.EOF {
			b.WriteString("end")
			break
		}
		var data string
		if err == nil {
			data, err = decode(ev.ID, buf[:n])
		}
		if err != nil {
			return answer(err)
		}
		fmt.Fprintf(&b, "%d %d %d %d %q\t", ev.ID, ev.PID, ev.Truncation, ev.UnixNano, data)
	}
	return b.String()
}

// decode converts the data of system events to their form in the model.
func decode(id EventID, data []byte) (string, error) {
	switch id {
	case EventStart:
		f, err := DecodeSet(data)
		return set(f), err
	case EventStop:
		n, err := DecodeInt(data)
		return fmt.Sprint(n), err
	case EventFilter:
		old, new, err := DecodeFilter(data)
		return set(old) + ">" + set(new), err
	}
	return string(data), nil
}
