package compare

import (
	"testing"

	"github.com/posixtrace/posixtrace/internal/hostile"
)

func TestMask(t *testing.T) {
	pids := map[int32]bool{4711: true}
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"-O2 -c number.c", "-O2 -c number.c"},
		{"/tmp/ccAbC1.s", "@tmp.s"},
		{"-o /tmp/ccAbC1.o x", "-o @tmp.o x"},
		{"/tmp/go-build123/b001/x.a", "@tmp/b001/x.a"},
		{"--file=/var/tmp/x.1234", "--file=@tmp"},
		{"/tmp/app.7btq", "@tmp"},
		{"-o\x00/tmp/app.7btq\x00-c\x00main.c", "-o\x00@tmp\x00-c\x00main.c"},
		{"/tmp/app.7btq/obj/ccAbC1d2.o", "@tmp/obj/@tmp.o"},
		{"/tmp/build.log /tmp/out/a.txt", "/tmp/build.log /tmp/out/a.txt"},
		{"/tmp/build/tmp.8Gk3xTzQ1a/x", "/tmp/build/@tmp/x"},
		{"/tmp/build/0a1b2c3/x", "/tmp/build/@hash/x"},
		{"/tmp/build/tmp/k2x9.s", "/tmp/build/tmp/@tmp.s"},
		{"/dev/fd/63 /run/user/1000/app.7btq", "@tmp @tmp"},
		{"a/tmp/x", "a/tmp/x"},
		{"/tmp/", "/tmp/"},
		{"kill 4711 4712 47", "kill @pid 4712 47"},
		{"/proc/123/comm", "/proc/@pid/comm"},
		{"rev=0a1b2c3 x", "rev=@hash x"},
		{"deadbeef defaced 1234567", "deadbeef defaced 1234567"},
		{"da39a3ee5e6b4b0d3255bfef95601890afd80709", "@hash"},
		{"AbCdEfGh12IjKlMnOp", "@hash"},
		{"at 1763890123 s", "at @number s"},
		{"2026-11-23T10:12:00.5Z x", "@date x"},
		{"2026-11-23 x 10:12:00.25", "@date x @date"},
		{"cmTC_9f504.dir", "cmTC_@hash.dir"},
		{"TryCompile-XYBSiI/x TryCompile", "TryCompile-@hash/x TryCompile"},
		{"libfoo-1.2.3 x86_64 sha256", "libfoo-1.2.3 x86_64 sha256"},
		{"grüße 日本", "grüße 日本"},
	} {
		if got := mask(tt.in, pids); got != tt.want {
			t.Errorf("mask(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"ok  pkg 0.532s", "ok  pkg @s"},
		{"took 12ms, 3 of 4", "took @ms, 3 of 4"},
		{"\x1b[32mPASS\x1b[0m 5s", "PASS @s"},
		{"version 1.2.3", "version @.3"},
		{"  [ 25%] Building x.o", "[ @%] Building x.o"},
		{"[3/40] CC x.o", "[@/40] CC x.o"},
		{"100 of 3/4", "100 of 3/4"},
	} {
		if got := maskLine([]byte(tt.in)); got != tt.want {
			t.Errorf("maskLine(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	for _, s := range hostile.Texts() {
		if got := maskLine([]byte(s)); mask(mask(s, pids), pids) != mask(s, pids) {
			t.Errorf("mask(%q) changes on and on: %q", s, got)
		}
	}
}
