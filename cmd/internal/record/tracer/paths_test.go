package tracer

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// What a descriptor refers to is shown as strace -yy shows it.
func TestAppendOpened(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "file"))
	tracetest.OK(t, "file", err)
	defer f.Close()
	gone, err := os.Create(filepath.Join(dir, "gone"))
	tracetest.OK(t, "file", err)
	defer gone.Close()
	os.Remove(gone.Name())
	socket := func(domain, kind int, a unix.Sockaddr) int {
		s, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, 0)
		tracetest.OK(t, "socket", err)
		t.Cleanup(func() { unix.Close(s) })
		if a != nil {
			tracetest.OK(t, "bind", unix.Bind(s, a))
		}
		return s
	}
	name := filepath.Join(dir, "s")
	tcp := socket(unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	tracetest.OK(t, "listen", unix.Listen(tcp, 1))
	bound, err := unix.Getsockname(tcp)
	tracetest.OK(t, "getsockname", err)
	client := socket(unix.AF_INET, unix.SOCK_STREAM, nil)
	tracetest.OK(t, "connect", unix.Connect(client, bound))
	port := strconv.Itoa(bound.(*unix.SockaddrInet4).Port)
	server := socket(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: name})
	tracetest.OK(t, "listen", unix.Listen(server, 1))
	peer := socket(unix.AF_UNIX, unix.SOCK_STREAM, nil)
	tracetest.OK(t, "connect", unix.Connect(peer, &unix.SockaddrUnix{Name: name}))
	here, err := os.Getwd()
	tracetest.OK(t, "getwd", err)

	q := regexp.QuoteMeta
	for _, tt := range []struct {
		fd   int
		want string
	}{
		{int(f.Fd()), q("<" + f.Name() + ">")},
		{int(gone.Fd()), q("<" + gone.Name() + " (deleted)>")},
		{unix.AT_FDCWD, q("<" + here + ">")},
		{-1, ""},
		{1 << 20, ""},
		{tcp, q("<TCP:[127.0.0.1:" + port + "]>")},
		{client, `<TCP:\[127\.0\.0\.1:\d+->127\.0\.0\.1:` + port + `\]>`},
		{socket(unix.AF_INET, unix.SOCK_DGRAM, nil), q("<UDP:[0.0.0.0:0]>")},
		{server, `<UNIX-STREAM:\[\d+,"` + q(name) + `"\]>`},
		{peer, `<UNIX-STREAM:\[\d+->"` + q(name) + `"\]>`},
		{socket(unix.AF_UNIX, unix.SOCK_DGRAM, &unix.SockaddrUnix{Name: "@posixtrace-" + strconv.Itoa(os.Getpid())}), `<UNIX-DGRAM:\[\d+,"@posixtrace-\d+"\]>`},
		{socket(unix.AF_UNIX, unix.SOCK_SEQPACKET, nil), `<UNIX-SEQPACKET:\[\d+\]>`},
		{socket(unix.AF_NETLINK, unix.SOCK_RAW, nil), `<socket:\[\d+\]>`},
	} {
		got := string(appendOpened(nil, os.Getpid(), tt.fd))
		if !regexp.MustCompile("^" + tt.want + "$").MatchString(got) {
			t.Errorf("descriptor %d is %q, want %s", tt.fd, got, tt.want)
		}
	}
	// Also of a thread that does not lead the process.
	tids, err := os.ReadDir("/proc/self/task")
	tracetest.OK(t, "threads", err)
	tid, _ := strconv.Atoi(tids[len(tids)-1].Name())
	if got, want := string(appendOpened(nil, tid, tcp)), "<TCP:[127.0.0.1:"+port+"]>"; got != want {
		t.Errorf("in thread %d the descriptor is %q, want %q", tid, got, want)
	}
}

// Looking at a socket does not keep it open.
func TestAppendOpenedCloses(t *testing.T) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	tracetest.OK(t, "socket", err)
	defer unix.Close(s)
	before, err := os.ReadDir("/proc/self/fd")
	tracetest.OK(t, "descriptors", err)
	for range 10 {
		appendOpened(nil, os.Getpid(), s)
	}
	after, err := os.ReadDir("/proc/self/fd")
	tracetest.OK(t, "descriptors", err)
	if len(after) != len(before) {
		t.Errorf("%d descriptors are open, before %d", len(after), len(before))
	}
}

// A call that a thread is in is described although nothing traces it.
func TestDescribe(t *testing.T) {
	name, args := Describe(os.Getpid(), unix.SYS_READ, [6]uint64{0, 0x10, 3})
	if name != "read" || len(args) != 3 || string(args[1].Value) != "0x10" || string(args[2].Value) != "3" {
		t.Errorf("the call is %s with %d arguments: %v", name, len(args), args)
	}
	if name, args := Describe(os.Getpid(), 1<<20, [6]uint64{}); name != "" || len(args) != 7 {
		t.Errorf("an unknown call is %q with %d arguments", name, len(args))
	}
	if name, _ := Describe(os.Getpid(), -5, [6]uint64{}); name != "" {
		t.Errorf("an impossible call is %q", name)
	}
}
