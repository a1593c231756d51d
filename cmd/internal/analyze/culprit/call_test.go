package culprit

import (
	"strings"
	"testing"
)

func TestCall(t *testing.T) {
	long := strings.Repeat("9", 60)
	for _, tt := range [][2]string{
		{"", ""}, {"pause()", "pause()"}, {"read(0<pipe:[7]>, 0x1, 2)", "read(0<pipe:[7]>)"}, {"write(1<a,b>, \"y\\n\\\",\"..., 8)", "write(1<a,b>)"},
		{"poll([{fd=3, events=POLLIN}, {fd=4}], 2, -1)", "poll([{fd=3, events=POLLIN}, {fd=4}])"},
		{"select(1, [0<pipe:[7]>], [], [], NULL)", "select(1, [0<pipe:[7]>])"},
		{"open(" + long + ")", "open(" + long + ")"},
		{`openat(AT_FDCWD, "a,(\"b", O_RDONLY|O_CLOEXEC)`, `openat(AT_FDCWD, "a,(\"b", O_RDONLY|O_CLOEXEC)`},
		{`openat(AT_FDCWD, "` + long + `", O_RDONLY)`, "openat(AT_FDCWD, O_RDONLY)"},
		{"flock(3</l>, LOCK_EX)", "flock(3</l>, LOCK_EX)"}, {"flock(3</" + long + ">, LOCK_EX)", "flock(3</" + long + ">, LOCK_EX)"}, {"fcntl(3</l>, F_SETLKW, {l_type=F_WRLCK})", "fcntl(3</l>, F_SETLKW)"},
		{"futex(0x7f, FUTEX_WAIT_PRIVATE, 2, NULL)", "futex(0x7f, FUTEX_WAIT_PRIVATE)"},
		{"recvfrom(3<TCP:[127.0.0.1:1->127.0.0.1:2]>, 0x7f, 1, 0, NULL, NULL)", "recvfrom(3<TCP:[127.0.0.1:1->127.0.0.1:2]>)"},
		{"splice(0<pipe:[7]>, NULL, 1</x>, NULL, 9)", "splice(0<pipe:[7]>, 1</x>)"},
		{`read(3</a">, 0x7f, 1)`, `read(3</a">, 0x7f, 1)`}, {"read(3</a<b>, 0x7f, 1)", "read(3</a<b>, 0x7f, 1)"}, // a name may be anything
		{`open("`, `open(")`}, {`open(\`, `open(\)`}, {`"\`, `"\`}, {"(", "()"}, {"a(,", "a()"}, {"a(b", "a(b)"}, {"a)(b>", "a)(b>)"},
	} {
		if got := Call(tt[0]); got != tt[1] {
			t.Errorf("Call(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
}
