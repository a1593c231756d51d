package test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The peer in Go: a process that obeys the lines that libposixtrace/conformance/peer.c obeys in C, and
// answers in the same words.

func init() { tracetest.Helpers["language-peer"] = obeyLines }

// goPeer is the state of such a process.
type goPeer struct {
	self    []string // the FIFOs
	streams map[string]*posixtrace.Stream
	logs    map[string]*posixtrace.Log
}

func obeyLines(args []string) {
	in, err := os.Open(args[0])
	tracetest.Check(err == nil, "%v", err)
	out, err := os.OpenFile(args[1], os.O_WRONLY, 0)
	tracetest.Check(err == nil, "%v", err)
	p := &goPeer{args, map[string]*posixtrace.Stream{}, map[string]*posixtrace.Log{}}
	fmt.Fprintln(out, os.Getpid())
	for sc := bufio.NewScanner(in); sc.Scan(); {
		answer, err := p.obey(strings.Fields(sc.Text()))
		var no syscall.Errno
		if errors.As(err, &no) {
			answer = strconv.Itoa(int(no))
		} else if err != nil {
			answer = err.Error()
		}
		fmt.Fprintln(out, answer)
	}
}

func (p *goPeer) obey(f []string) (string, error) {
	switch verb := f[0]; verb {
	case "alone": // by GOMAXPROCS
		return "done", nil
	case "event":
		id, err := posixtrace.OpenEventID(f[1])
		if err == nil {
			posixtrace.Event(id, []byte(f[2]))
		}
		return strconv.Itoa(int(id)), err
	case "times":
		id, err := posixtrace.OpenEventID(f[1])
		for i := range number(f[3]) {
			data := strconv.Itoa(number(f[2])+i) + " "
			data += strings.Repeat(".", max(number(f[4])-len(data), 0))
			posixtrace.Event(id, []byte(data))
		}
		return "done", err
	case "spawn":
		cmd := exec.Command(os.Args[0], f[1], f[2])
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=language-peer")
		err := cmd.Start()
		go cmd.Wait()
		return "done", err
	case "exec":
		os.Setenv(tracetest.HelperVar, "language-peer")
		return "", syscall.Exec(os.Args[0], append(os.Args[:1], p.self...), os.Environ())
	case "create":
		return "done", p.create(f[1], number(f[2]), f[3:])
	case "attach":
		s, err := posixtrace.Attach(f[1])
		p.streams[f[1]] = s
		return "done", err
	case "openlog":
		file, err := os.Open(f[2])
		if err != nil {
			return "", err
		}
		defer file.Close()
		p.logs[f[1]], err = posixtrace.Open(file)
		return "done", err
	case "start", "stop", "clear", "flush", "shutdown", "close", "rewind":
		return "done", p.control(verb, f[1])
	case "status":
		return p.status(f[1])
	case "filter":
		return "done", p.filter(f[1], number(f[2]), f[3:])
	case "read":
		return p.read(f[1])
	case "types":
		return p.types(f[1])
	}
	return "", errors.New("no verb " + f[0])
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	tracetest.Check(err == nil, "%v", err)
	return n
}

func (p *goPeer) create(name string, pid int, settings []string) (err error) {
	attr, log := posixtrace.Attr{Name: name}, ""
	for _, set := range settings {
		key, value, _ := strings.Cut(set, "=")
		switch key {
		case "policy":
			attr.StreamFullPolicy = posixtrace.FullPolicy(number(value))
		case "logpolicy":
			attr.LogFullPolicy = posixtrace.FullPolicy(number(value))
		case "inherited":
			attr.Inheritance = posixtrace.Inheritance(number(value))
		case "size":
			attr.StreamSize = int64(number(value))
		case "data":
			attr.MaxDataSize = new(number(value))
		case "logsize":
			attr.LogSize = int64(number(value))
		case "log":
			log = value
		}
	}
	if log == "" {
		p.streams[name], err = posixtrace.Create(pid, &attr)
		return err
	}
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	p.streams[name], err = posixtrace.CreateWithLog(pid, &attr, f)
	return err
}

func (p *goPeer) control(verb, name string) error {
	if l := p.logs[name]; l != nil {
		if verb == "close" {
			return l.Close()
		}
		return l.Rewind()
	}
	s := p.streams[name]
	return map[string]func() error{"start": s.Start, "stop": s.Stop, "clear": s.Clear, "flush": s.Flush,
		"shutdown": s.Shutdown, "close": s.Close}[verb]()
}

func (p *goPeer) status(name string) (string, error) {
	var st posixtrace.Status
	var err error
	if l := p.logs[name]; l != nil {
		st, err = l.Status()
	} else {
		st, err = p.streams[name].Status()
	}
	return fmt.Sprintf("%d %d %d %d %d %d %d %d %d", st.StreamStatus, st.StreamFullStatus, st.StreamOverrunStatus,
		st.StreamFlushStatus, st.StreamFlushError, st.LogOverrunStatus, st.LogFullStatus, st.Lost, st.LogLost), err
}

func (p *goPeer) filter(name string, how int, events []string) error {
	s, set := p.streams[name], posixtrace.EventSet{}
	for _, e := range events {
		switch e {
		case "ALL":
			set.Fill(posixtrace.FillAll)
		case "SYSTEM":
			set.Fill(posixtrace.FillSystem)
		default:
			id, err := s.EventID(e)
			if err != nil {
				return err
			}
			set.Add(id)
		}
	}
	return s.SetFilter(set, posixtrace.FilterHow(how))
}

// reading is a stream or a log.
type reading interface {
	EventName(id posixtrace.EventID) (string, error)
	NextEventType() (posixtrace.EventID, bool, error)
	RewindEventTypes() error
}

func (p *goPeer) reading(name string) (reading, func([]byte) (posixtrace.EventInfo, int, error)) {
	if l := p.logs[name]; l != nil {
		return l, l.Next
	}
	return p.streams[name], p.streams[name].TryNext
}

func (p *goPeer) read(name string) (string, error) {
	s, next := p.reading(name)
	var b strings.Builder
	var buf [70000]byte
	for {
		ev, n, err := next(buf[:])
		if err == io.EOF || err == posixtrace.ErrUnavailable {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		what, err := s.EventName(ev.ID)
		if err != nil {
			return "", err
		}
		if ev.ID.User() {
			fmt.Fprintf(&b, "%s %d %d %s\t", what, ev.PID, ev.Truncation, buf[:n])
			continue
		}
		cause := 0
		if ev.ID == posixtrace.EventStop {
			cause, _ = posixtrace.DecodeInt(buf[:n])
		}
		fmt.Fprintf(&b, "%s %d %d\t", what, ev.PID, cause)
	}
}

func (p *goPeer) types(name string) (string, error) {
	s, _ := p.reading(name)
	if err := s.RewindEventTypes(); err != nil {
		return "", err
	}
	list := " "
	for {
		id, ok, err := s.NextEventType()
		if err != nil || !ok {
			return list, err
		}
		what, err := s.EventName(id)
		if err != nil {
			return "", err
		}
		list += what + " "
	}
}
