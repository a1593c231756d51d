package tracer

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The flags of an open file have the same names on each processor that reads the log, whichever of the
// two recorded them.
func TestFlagsOfEitherProcessor(t *testing.T) {
	for _, c := range []struct {
		amd64, arm64 int64
		want         string
	}{
		{0, 0, "O_RDONLY"},
		{0x801, 0x801, "O_WRONLY|O_NONBLOCK"},
		{0x4001, 0x10001, "O_WRONLY|O_DIRECT"}, // a pipe of packets
		{0x8000, 0x20000, "O_RDONLY|O_LARGEFILE"},
		{0x8402, 0x20402, "O_RDWR|O_APPEND|O_LARGEFILE"},
		{0xc000, 0x30000, "O_RDONLY|O_DIRECT|O_LARGEFILE"},
		{0x18800, 0x24800, "O_RDONLY|O_NONBLOCK|O_LARGEFILE|O_DIRECTORY"},
		{0x28000, 0x28000, "O_RDONLY|O_LARGEFILE|O_NOFOLLOW"},
		{0x38800, 0x2c800, "O_RDONLY|O_NONBLOCK|O_LARGEFILE|O_DIRECTORY|O_NOFOLLOW"},
		{0x418002, 0x424002, "O_RDWR|O_LARGEFILE|O_TMPFILE"},
		{0x1c000, 0x34000, "O_RDONLY|O_DIRECT|O_LARGEFILE|O_DIRECTORY"},
	} {
		for name, result := range map[string]int64{"amd64": c.amd64, "arm64": c.arm64} {
			d := &posixtrace.SyscallData{Result: result, Returned: true, Args: []posixtrace.SyscallArg{{Value: []byte("3")}, {Value: []byte("F_GETFL")}}}
			if got := ResultText("fcntl", d); got != "flags "+c.want {
				t.Errorf("%#x of %s: %q, want %q", result, name, got, "flags "+c.want)
			}
		}
	}
}
