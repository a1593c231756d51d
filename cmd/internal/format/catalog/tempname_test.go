package catalog

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Names as programs make them.
func TestTemporaryNames(t *testing.T) {
	for _, name := range []string{
		"tmp.8Gk3xTzQ1a", "tmp.abcdefghij", "app.7btq", "app.XyZ", "app.wxyz", "myapp-Ab3dE9", "buildXk29fQ", "deploy_k3J9aa", // mktemp(1), mkstemp(3)
		"log.a8Kz3q.txt", "a8Kz3q.log", "sess.Xk2a9B.json", "AbCdEf", "abcdef", "ABCDEF", // mktemp --suffix
		"ccAbC12x.s", "ccAbC12x.o", "ccmnopqr.res", "ccq3Xz9k.ltrans0.o", "cc9XkQ2a.cdtor.c", // gcc
		"sh-thd.Xk29aZ", "sh-thd-1763890123", "tmpfXk29aZ", "fileXk29aZ", // bash, tmpfile(3), tmpnam(3)
		"go-build1763890123", "TestX1763890123", "example.4711.txt", "name123456", "upload-998877665.part", "gopath3", // Go
		"tmpabcdefgh", "tmp3x_k2ab9", "tmp_a1b2c3d", "build-q8_x2k_z", "pip-build-env-x2k9ab3q", "pip-req-tracker-1z_8x2kc", "pymp-3k2j1x9a", // Python
		"junit1763890123456789", "hello5577006791947779410.tmp", "hsperfdata_root", "sbt_4711abc", // Java
		".tmpXk29aZ", "rustcXk29aZ", "cargo-installXk29aZ", // Rust
		"npm-4711-1a2b3c4d", "node-Xk29aZ", "v8-compile-cache-1000", "yarn--1763890123456-0.5577", // Node
		"phpXk29aZ", "d20261127-4711-1ab2c3", "foo20261127-4711-1ab2c3", // PHP, Ruby
		"Xk29aZQ1bc", "perl-Xk29aZQ1bc", // Perl
		"tmpA1B2.tmp", "k2x9ab3q.f5z", // .NET
		"systemd-private-0123456789abcdef0123456789abcdef-chrony.service-Xk29aZ", "ssh-Xk29aZQ1bcDe", "apt.conf.Xk29aZ", "apt-key-gpghome.Xk29aZQ1bc",
		"tmux-1000", "runtime-4711", "build.4711.log", "out.123", "4711", "lock4711", "sem.Xk29aZ", "psm_1a2b3c4d", // process ids, and others
		"8f14e45f-ceea-467f-a8f5-1b2c3d4e5f60", "build-20261127-071500.log", "vXk29aZ", "git-blob-Xk29aZ", "cmTC_9f504",
	} {
		if !Random(name) {
			t.Errorf("%s is the same in each run", name)
		}
	}
	for _, name := range []string{
		"build.log", "build", "out.txt", "a.out", "x", "a", "b.c", "test-results.xml", "config.json", "server.sock", "docker.sock", ".X11-unix",
		"logs", "cache", "my_app.log", "myapp", "Myapp.log", "TestMain.java", "main.cpp", "python3.12", "log2.txt", "file1", "step-3.log", "test01",
		"coverage.html", "data.db", "artifacts.tar.gz", "workdir", "logfile", "webserver.pid", "backup-old", "pytest-of-root", "snap-private-tmp",
		"x86_64", "out.tsv.zst", "größe.txt", "日本", "@tmp", "@tmp.s", "report.html", "deploy.lock", "CACHE", "README.md", "Makefile", "foo.bar", "page-12.png",
	} {
		if Random(name) {
			t.Errorf("%s is random", name)
		}
	}
	for name, want := range map[string]bool{"tmp.8Gk3xTzQ1a": true, "tmpabcdefgh": true, "ccAbC12x.s": true, "pytest-3": true, "go-build1763890123": true, ".tmpXk29aZ": true,
		"rtl8188eu.c": false, "b001": false, "001": false, "tmpfiles.d": false, "tmpdir": false, "sha1dc.o": false, "ccache.c": false, "x.c": false, "pytest-of-root": false} {
		if Surely(name) != want {
			t.Errorf("%s: sure %v, want %v", name, !want, want)
		}
	}
	for name, want := range map[string]string{"ccAbC12x.s": ".s", "a8Kz3q.log": ".log", "app.7btq": "", "app.wxyz": "", "x.1234": "", "tmp.8Gk3xTzQ1a": "",
		"example.4711.txt": ".txt", ".tmpXk29aZ": "", "x.": "", ".log": "", "k2.tar.gz": ".gz"} {
		if got := Extension(name); got != want {
			t.Errorf("Extension(%q) = %q, want %q", name, got, want)
		}
	}
}

// Of 100,000 names of each form, hardly one is taken for one that is the same in each run.
func TestByChance(t *testing.T) {
	const (
		alnum = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		lower = "abcdefghijklmnopqrstuvwxyz0123456789_"
	)
	r := rand.New(rand.NewPCG(3, 5))
	text := func(from string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = from[r.IntN(len(from))]
		}
		return string(b)
	}
	for form, next := range map[string]func() string{
		"mktemp":           func() string { return "tmp." + text(alnum, 10) },
		"mktemp X6":        func() string { return "app." + text(alnum, 6) },
		"mktemp X6.log":    func() string { return "app-" + text(alnum, 6) + ".log" },
		"mkstemp glued":    func() string { return "build" + text(alnum, 6) },
		"no prefix":        func() string { return text(alnum, 6) },
		"gcc":              func() string { return "cc" + text(alnum, 6) + ".o" },
		"python":           func() string { return "tmp" + text(lower, 8) },
		"python prefix":    func() string { return "test_" + text(lower, 8) + ".txt" },
		"python no prefix": func() string { return text(lower, 8) },
		"go":               func() string { return "build" + strconv.FormatUint(uint64(r.Uint32()|1<<10), 10) },
		"java":             func() string { return "test" + strconv.FormatUint(r.Uint64()|1<<10, 10) + ".tmp" },
		"process id":       func() string { return "out." + strconv.Itoa(100+r.IntN(1<<22)) },
		"uuid": func() string {
			return text("0123456789abcdef", 8) + "-" + text("0123456789abcdef", 4) + "-" + text("0123456789abcdef", 12)
		},
	} {
		var missed []string
		for range 100_000 {
			if name := next(); !Random(name) {
				missed = append(missed, name)
			}
		}
		if len(missed) > 2 {
			t.Errorf("%s: taken for the same in each run: %q", form, missed)
		}
	}
}

func TestPath(t *testing.T) {
	chosen = "/home/ci/scratch/"
	for text, want := range map[string]string{
		"/tmp/x": "/tmp/|x", "/tmp/x/y z": "/tmp/|x/y", "/tmp/": "", "/tmp": "", "/template/x": "", "tmp/x": "", "": "",
		"/var/tmp/a.s,": "/var/tmp/|a.s", "/private/var/tmp/x": "/private/var/tmp/|x", "/dev/shm/x": "/dev/shm/|x", "/dev/fd/63": "/dev/fd/|63",
		"/run/user/1000/x/y": "/run/user/1000/|x/y", "/run/user/1000/": "", "/var/folders/ab/cd_12/T/x": "/var/folders/ab/cd_12/T/|x",
		"/home/ci/scratch/x": "/home/ci/scratch/|x", "/home/ci/scratches/x": "", "/tmp/a\x00-o\x00b": "/tmp/|a", "/tmp//x": "", "/tmp/x//y": "/tmp/|x//y",
		"/tmp/x/": "/tmp/|x/", "/tmp/größe": "/tmp/|größe", "/tmp/x\n": "/tmp/|x", "/tmp/x=y": "/tmp/|x", "/tmp/x:3:": "/tmp/|x",
	} {
		dir, n := TemporaryPath(text)
		got := ""
		if n > 0 {
			got = text[:dir] + "|" + text[dir:n]
		}
		if d, m := TemporaryPath([]byte(text)); d != dir || m != n {
			t.Errorf("%q: other bytes than text", text)
		}
		if got != want {
			t.Errorf("Path(%q) = %q, want %q", text, got, want)
		}
	}
	if strings.Contains(words, "\t\t") {
		t.Error("a line of words has tabs inside")
	}
}

func BenchmarkPath(b *testing.B) {
	const text = "/usr/include/x86_64-linux-gnu/c++/12/bits/stl_vector.h"
	for b.Loop() {
		for i := range text {
			TemporaryPath(text[i:])
		}
	}
}
