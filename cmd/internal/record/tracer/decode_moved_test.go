package tracer

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// nameKinds are the kinds of arguments that are names: --redact compares the patterns with them.
var nameKinds = []kind{kPath, kLink, kText, kStrings, kUnameOut, kAddrIn, kAddrOut}

// Each argument that shows bytes of the process is a name, or it is bytes that the call moves: then the tracer leaves
// them out with --redact, and so do the commands that read a log. A new call, or a new kind of argument,
// that is neither fails here.
func TestMovedBytes(t *testing.T) {
	const page = 4096
	mem, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	secret := []byte("SECRETSECRETSECRETSECRET")
	base := uint64(uintptr(unsafe.Pointer(&mem[0])))
	// The first page has pointers to the second one and lengths: arrays of strings and of struct iovec, struct msghdr.
	for i := 0; i+16 <= page; i += 16 {
		at, n := base+page, uint64(16)
		if i%64 == 16 {
			at, n = base, 1
		}
		binary.NativeEndian.PutUint64(mem[i:], at)
		binary.NativeEndian.PutUint64(mem[i+8:], n)
	}
	for i := page; i < 2*page; i += 128 {
		copy(mem[i:], secret)
	}
	shows := func(nr, arg int, pointer uint64, leavesOut bool) (value []byte, how kind) {
		k := &task{tid: os.Getpid(), pid: os.Getpid()}
		k.call.nr = nr
		for i := range k.call.raw {
			k.call.raw[i] = 24
		}
		k.call.raw[arg] = pointer
		if list := k.call.kinds(); arg < len(list) {
			how = list[arg]
		}
		if how == kAddrOut || how == kIntOut { // the next argument points to the size
			binary.NativeEndian.PutUint32(mem[page+64:], 24)
			k.call.raw[(arg+1)%6] = base + page + 64
		}
		tr := &tracer{cfg: Config{MaxData: 4096}, leavesOut: leavesOut}
		tr.decodeEntry(k)
		tr.decodeReturn(k, &posixtrace.SyscallData{Returned: true, Result: 24})
		for _, a := range k.call.args {
			if bytes.Contains(a.Value, []byte("SECRET")) {
				value = a.Value
			}
		}
		return value, how
	}
	movers := map[string]bool{}
	for nr, name := range names {
		if name == "" {
			continue
		}
		for arg := range 6 {
			for _, pointer := range []uint64{base, base + page} {
				switch value, how := shows(nr, arg, pointer, false); {
				case value == nil || slices.Contains(nameKinds, how):
				case !how.moves() || !catalog.Moves(name, arg):
					t.Errorf("argument %d of %s shows %q: a name, or bytes that move? (moves: %v, in callset: %v)", arg, name, value, how.moves(), catalog.Moves(name, arg))
				default:
					movers[name] = true
				}
				if value, how := shows(nr, arg, pointer, true); value != nil && !slices.Contains(nameKinds, how) {
					t.Errorf("argument %d of %s shows %q although it is to be left out", arg, name, value)
				}
			}
		}
		for arg, how := range spec(nr) {
			if how.moves() && !catalog.Moves(name, arg) {
				t.Errorf("argument %d of %s is bytes that move, and callset does not know", arg, name)
			}
		}
	}
	for _, name := range []string{"read", "write", "readv", "pwritev2", "sendmsg", "recvmmsg", "getxattr", "getrandom"} {
		if !movers[name] {
			t.Errorf("%s shows no bytes: the test is wrong", name)
		}
	}
	for _, name := range catalog.Movers() {
		if !slices.Contains(names[:], name) {
			t.Errorf("callset has %s, which is no call here", name)
		}
	}
}
