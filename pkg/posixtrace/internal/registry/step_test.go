package registry

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

func init() { roles["step"] = roleStep }

// roleStep is a process that uses the trace directory one step at a time, as testdata/c/step.c does through
// the C library. It reads steps from a socket and answers each in one line.
func roleStep() error {
	lockWait = 0 // the C library leaves the wait to its caller
	c, err := net.Dial("unix", os.Getenv("REGISTRY_SOCKET"))
	if err != nil {
		return err
	}
	var s stepper
	fmt.Fprintln(c, os.Getpid())
	in := bufio.NewScanner(c)
	for in.Scan() {
		answer, err := s.step(strings.Split(in.Text(), " "))
		if answer == "" {
			answer = errnoOf(err)
		}
		fmt.Fprintln(c, answer)
	}
	return nil
}

func errnoOf(err error) string {
	var no syscall.Errno
	if err != nil && !errors.As(err, &no) {
		return err.Error()
	}
	return fmt.Sprintf("errno %d", int(no))
}

// stepper is what the process knows of the directory.
type stepper struct {
	d      *Dir
	page   *Page
	names  *Names
	unlock func()
}

func (s *stepper) step(arg []string) (answer string, err error) {
	switch arg[0] {
	case "spawn":
		cmd := exec.Command(arg[1])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: arg[2] == "session", Setpgid: arg[2] == "group"}
		err = cmd.Start()
		if err == nil {
			go cmd.Wait()
		}
		return "", err
	case "exec":
		return "", syscall.Exec(arg[1], arg[1:2], os.Environ())
	case "match":
		return fmt.Sprintf("match %d", bit(stream.Match(arg[1][1:], arg[2][1:]))), nil
	case "unlock":
		if s.unlock != nil {
			s.unlock()
			s.unlock = nil
		}
		return "", nil
	case "page":
		return "", s.openPage()
	}
	if s.page == nil {
		if err := s.open(); err != nil {
			return "", err
		}
	}
	return s.stepOpened(arg)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// open opens the page for the first time.
func (s *stepper) open() (err error) {
	if s.d, err = Open(); err != nil {
		return err
	}
	s.d.FamilyOf = s.familyOf
	if s.page, err = s.d.Page(sys.SelfProc(), true); err != nil {
		return err
	}
	s.page.Opened()
	return s.openNames()
}

func (s *stepper) openNames() (err error) {
	if s.names, err = s.d.Names(s.page.Family()); err != nil {
		return err
	}
	s.names.BeforePublish(s.decide)
	return nil
}

// openPage opens the page, or makes another one if that was removed, and sweeps.
func (s *stepper) openPage() error {
	if s.page == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	if _, err := sys.StatAt(s.d.f, pageName(sys.SelfProc())); s.d.Gone() || s.page.Moved() || errors.Is(err, syscall.ENOENT) {
		d, err := Open()
		if err != nil {
			return err
		}
		d.FamilyOf = s.familyOf
		page, err := d.Page(sys.SelfProc(), true)
		if err != nil {
			return err
		}
		if err := s.names.Move(d); err != nil {
			return err
		}
		s.page.Forget()
		s.d, s.page = d, page
	}
	s.sweep()
	return nil
}

// sweep sweeps all, until a sweep finds no more.
func (s *stepper) sweep() {
	for range 2 {
		s.d.tidySome(true)
	}
}

func (s *stepper) stepOpened(arg []string) (answer string, err error) {
	switch arg[0] {
	case "attach":
		flags, _ := strconv.Atoi(arg[2])
		err = s.page.AttachSelf(hexID(arg[1]), Flags(flags))
	case "detach":
		if s.unlock == nil {
			unlock, err := s.d.TryLock()
			if err != nil {
				return "", err
			}
			defer unlock()
		}
		s.page.Detach(hexID(arg[1]))
	case "family":
		if s.page.SetFamily(hexID(arg[1])) != nil {
			return "", syscall.EBUSY
		}
		s.names.Close()
		err = s.openNames()
	case "tidy":
		s.sweep()
	case "name":
		return s.name(arg[1], arg[2])
	case "have":
		id, _ := strconv.Atoi(arg[1])
		_, ok := s.names.Lookup(event.ID(id))
		answer = fmt.Sprintf("have %d", bit(ok))
	case "entries":
		answer = "entries"
		for _, e := range s.page.Entries() {
			answer += fmt.Sprintf(" %x:%d", e.Stream, e.Flags)
		}
	case "lock":
		if s.unlock != nil {
			return "", syscall.EAGAIN
		}
		s.unlock, err = s.d.TryLock()
	default:
		return s.file(arg)
	}
	return answer, err
}

func (s *stepper) name(name, most string) (answer string, err error) {
	limit, _ := strconv.Atoi(most)
	id, _, err := s.names.Open(name, false, &Quota{
		Left: func() bool { return s.page.AddUserNames(0) < limit },
		Use:  func() { s.page.AddUserNames(1) },
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("id %d", id), nil
}

// file carries out the steps that only read files.
func (s *stepper) file(arg []string) (answer string, err error) {
	var f *os.File
	switch arg[0] {
	case "open":
		f, err = s.d.openOwn(arg[1], map[string]int{"read": os.O_RDONLY, "write": os.O_RDWR, "create": os.O_RDWR | os.O_CREATE}[arg[2]])
	case "stream":
		f, err = OpenStreamFrom(arg[1])
	case "known":
		n, err := s.d.Names(hexID(arg[1]))
		if err != nil {
			return "", err
		}
		defer n.Close()
		return fmt.Sprintf("known %d %d %d", n.t.next[0], n.t.next[1], n.t.end), nil
	case "verdict":
		pid, _ := strconv.ParseUint(arg[1], 10, 32)
		start, _ := strconv.ParseUint(arg[2], 10, 64)
		pg, v, err := s.d.mapPage(sys.Proc{PID: uint32(pid), Start: start})
		if pg != nil {
			pg.Close()
		}
		return fmt.Sprintf("verdict %s %d", strings.TrimPrefix(errnoOf(err), "errno "), v), nil
	default:
		return "", syscall.ENOSYS
	}
	if f != nil {
		f.Close()
	}
	return "", err
}

func hexID(s string) uint64 {
	id, _ := strconv.ParseUint(s, 16, 64)
	return id
}

// streamOf maps a stream.
func streamOf(d *Dir, id uint64) (m *stream.Mem, unmap func(), err error) {
	f, err := d.OpenStreamFile(id)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := sys.Fstat(f)
	if err != nil {
		return nil, nil, err
	}
	b, err := sys.Map(f, int(st.Size), true)
	if err != nil {
		return nil, nil, err
	}
	if m, err = stream.Attach(b, false); err != nil {
		sys.Unmap(b)
		return nil, nil, err
	}
	return m, func() { sys.Unmap(b) }, nil
}

func (s *stepper) familyOf(id uint64) (uint64, error) {
	m, unmap, err := streamOf(s.d, id)
	if err != nil {
		return 0, err
	}
	defer unmap()
	return m.Family(), nil
}

// decide applies the patterns of the family's streams to a new name.
func (s *stepper) decide(id event.ID, name string) {
	ids, _ := s.d.StreamIDs()
	for _, sid := range ids {
		if m, unmap, err := streamOf(s.d, sid); err == nil {
			if m.Family() == s.page.Family() {
				m.Decide(id, name)
			}
			unmap()
		}
	}
}
