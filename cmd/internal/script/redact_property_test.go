package script_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func init() { helpers["tell-secret"] = tellSecret }

// tellSecret FILE makes system calls with the text of a file: in paths and other names, in buffers, and
// in buffers that a call or several calls divide.
func tellSecret() {
	secret, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	s := string(secret)
	null, err := unix.Open("/dev/null", unix.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	pad := strings.Repeat("-", 64)
	for i := 1; i < len(s); i++ {
		if i%4 != 0 && i != len(s)-1 {
			continue
		}
		a, b := secret[:i], secret[i:]
		unix.Write(null, []byte("<"+s+">"+s))
		unix.Write(null, []byte(pad[:min(64, 64-i)&63]+s))
		unix.Writev(null, [][]byte{a, b})
		unix.Writev(null, [][]byte{a[:i/2], a[i/2:], b})
		unix.Writev(null, [][]byte{[]byte("x" + s[:i])})
		unix.Write(null, b)
		if os.Getenv("WAIT") == "" {
			continue // nothing is known of what was not recorded
		}
		unix.Write(null, append([]byte(pad), a...)) // its end is not recorded
		unix.Write(null, b)
		unix.Writev(null, [][]byte{[]byte(pad + pad), a})
		unix.Write(null, b)
	}
	if p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		unix.SendmsgBuffers(p[0], [][]byte{secret[:len(s)/2], secret[len(s)/2:]}, nil, nil, 0)
		buf := make([]byte, len(s)/2)
		unix.Recvfrom(p[1], buf, 0)
		unix.RecvmsgBuffers(p[1], [][]byte{buf[:3], buf[3:]}, make([]byte, 32), 0)
	}
	name := s
	if !strings.Contains(name, "/") && os.Mkdir(name, 0o700) == nil {
		if os.Chdir(name) == nil {
			unix.Getcwd(make([]byte, 4096))
			f, _ := os.Create("file " + name)
			f.WriteString(s + "\n")
			os.Symlink(name, "link")
			os.Readlink("link")
			os.ReadDir(".")
			unix.Setxattr("link", "user."+name, secret, 0)
			unix.Getxattr("file "+name, "user."+name, make([]byte, 256))
			unix.Rename("file "+name, name)
			unix.Access("./"+name, 0)
			if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
				unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + name})
				unix.Listen(fd, 1)
				unix.Bind(fd, &unix.SockaddrUnix{Name: "../" + name + "/socket"})
				unix.Connect(fd, &unix.SockaddrUnix{Name: name})
			}
			if fd, err := unix.MemfdCreate(name, 0); err == nil {
				unix.Write(fd, secret)
				unix.Close(fd)
			}
			if _, err := f.Stat(); err != nil {
				panic(err)
			}
		}
	}
	b, err := unix.BytePtrFromString(s)
	if err == nil {
		unix.Prctl(unix.PR_SET_NAME, uintptrOf(b), 0, 0, 0)
	}
	unix.Exec("/none/"+name, []string{"none", s, "x" + s}, []string{"SECRET=" + s})
	unix.Exec("/bin/true", []string{"true", s, strings.Repeat("-", 200) + s}, []string{"SECRET=" + s})
}

// secret is a text that must not be seen, in parts that random letters make unique.
type secret struct {
	text    string
	pattern string
	plain   bool // it is one line of letters, which may be the name of an event
}

func newSecret(rng *rand.Rand, odd string) secret {
	word := func() string {
		b := make([]byte, 12)
		for i := range b {
			const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			b[i] = letters[rng.IntN(len(letters))]
		}
		return string(b)
	}
	a, b := word(), word()
	var p strings.Builder
	p.WriteString("(?s)" + a)
	for i := 0; i < len(odd); {
		r, size := utf8.DecodeRuneInString(odd[i:])
		if r == utf8.RuneError {
			p.WriteString(".")
		} else {
			p.WriteString(regexp.QuoteMeta(odd[i : i+size]))
		}
		i += size
	}
	p.WriteString(b)
	return secret{a + odd + b, p.String(), odd == ""}
}

// shown returns a part of the secret that b has, of 8 letters. A call that is one of several may
// show fewer than 4 bytes.
func (s secret) shown(b []byte) string {
	for i := range len(s.text) - 8 {
		part := s.text[i : i+8]
		if strings.IndexFunc(part, func(r rune) bool { return r >= utf8.RuneSelf || r < '0' || r > '9' && r < 'A' }) < 0 && bytes.Contains(b, []byte(part)) {
			return part
		}
	}
	return ""
}

// noSecret fails if a file below dir has a part of a secret, in its name or in its contents.
func noSecret(t *testing.T, secrets []secret, what string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		files := 0
		err := filepath.WalkDir(path, func(name string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			var b []byte
			if d.Type().IsRegular() {
				files++
				if b, err = os.ReadFile(name); err != nil {
					return err
				}
			}
			if filepath.Base(name) == "redact" { // the patterns
				b = nil
			}
			for _, s := range secrets {
				if part := s.shown(append(b, name...)); part != "" {
					i := max(bytes.Index(b, []byte(part)), 0)
					t.Errorf("%s: %s: shows %q of %q: %q", what, name, part, s.text, b[max(i-60, 0):min(i+60, len(b))])
				}
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("%s: %d files, %v", what, files, err)
		}
	}
}

// The script that records the secrets: everything that the commands record passes one of them. Its
// arguments are files; those without end have one secret.
const tellingScript = `
export SECRET="$1"
ptrace-event app.login "x=$1"
ptrace-event app.cut "$(cat cut)"
ptrace-event "n.$2"
ptrace-event -B "s.$2" "$1"; ptrace-event -E "s.$2"
ptrace-event --stdin app.in <payload
ptrace-event --lines app.line <lines
ptrace-event --lines=tee app.tee <lines
ptrace-event --batch <batch
TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 TRACESTATE="a=$2" ptrace-event -r "r.$2" sh -c 'exit 0' "$1"
for shell in $(cat shells); do
	$shell -c "$(cat functions)" "$1" "$2" "$(cat long)"
done
cat out; cat out >&2
sh -c 'exit 0' "$1" "$2"
tell-secret one
ptrace-event done
i=0
while [ -n "$WAIT" ] && grep -qaF "$2" "$PTRACE_DIR"/l-*/spool* && [ $i -lt 1000 ]; do
	sleep 0.01; i=$((i+1)); ptrace-ctl status >/dev/null 2>&1 # which drains it
done
rm -rf snapshot; cp -r "$PTRACE_DIR" snapshot
exit 0
`

const tellingFunctions = `
if [ -n "${ZSH_VERSION-}" ]; then eval "$(ptrace-event --shell=zsh)"
elif [ -n "${BASH_VERSION-}" ]; then eval "$(ptrace-event --shell=bash)"
else eval "$(ptrace-event --shell=sh)"; fi
pt app.shell "$0"
pt app.shell "a	b" "$0"
pt app.long "$2"
pt "n.$1" x
pt_begin app.span "$0"; pt_end app.span "$0"
pt_step "s.$1" :
`

// telling makes the files of the script in dir, for secrets of which the first is plain. n is the
// length of an event.
func telling(t *testing.T, dir string, secrets []secret, n int, shells []string) []string {
	t.Helper()
	var out, lines, batch, payload bytes.Buffer
	for _, s := range secrets {
		fmt.Fprintf(&payload, "%s %s\n", s.text, s.text)
		if strings.ContainsAny(s.text, "\n") {
			continue // a text is a line
		}
		for _, k := range []int{0, 1, n - len(s.text) - 1, n - len(s.text), n - len(s.text) + 1, n - 2, n - 1, n, n + 1, 2*n - 1} {
			if k < 0 {
				continue
			}
			fmt.Fprintf(&lines, "%s%s\n", strings.Repeat("-", k), s.text)
			fmt.Fprintf(&out, "%s%s %s%s\n", strings.Repeat("-", k), s.text, s.text, s.text)
			fmt.Fprintf(&batch, "app.batch\t%s%s\n", strings.Repeat("-", k), s.text)
		}
		fmt.Fprintf(&lines, "\r%s\r\n", s.text)
		fmt.Fprintf(&out, "%s\r\n", s.text)
	}
	one := secrets[len(secrets)-1].text
	lines.WriteString(secrets[0].text)
	out.WriteString(secrets[0].text)
	// The functions of a shell cut a line of 4096 bytes, or of 1024.
	long := strings.Repeat("-", 4040-len("app.long")-9) + one
	for name, text := range map[string]string{
		"script": tellingScript, "functions": tellingFunctions, "out": out.String(), "lines": lines.String(), "batch": batch.String(),
		"payload": strings.Repeat("-", n-9) + one + payload.String(), "one": one, "long": long, "cut": strings.Repeat("-", n-9) + one,
		"shells": strings.Join(shells, " "),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"sh", "-c", tellingScript, "sh", one, secrets[0].text}
}

// Whatever a secret looks like, and whichever way it takes through the commands, nothing of it is in
// the log, the stream, the spool behind its consumer, or in what the commands show.
func TestRedactProperty(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	seed := uint64(time.Now().UnixNano())
	var shells []string
	for _, s := range []string{"sh", "bash", "zsh"} {
		if _, err := exec.LookPath(s); err == nil {
			shells = append(shells, s)
		}
	}
	odds := []string{"", `"`, `\`, "\n", "\xff\xfe", "'", "$x", " ", "\t", "é", "/", "<>", `\n`, "*", ", ", "\x1b[m", `"}]`, "=:@"}
	first := int(seed % uint64(len(odds)))
	for i := range tracetest.Scale(3, 2*len(odds), 20*len(odds)) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		odd := odds[(first+i)%len(odds)]
		if i >= len(odds) {
			odd += odds[rng.IntN(len(odds))]
		}
		t.Run(fmt.Sprintf("seed %d %d", seed, i), func(t *testing.T) {
			redactCase(t, rng, odd, shells[i%len(shells):][:1], i)
		})
	}
}

func redactCase(t *testing.T, rng *rand.Rand, odd string, shells []string, i int) {
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "LC_ALL=C.UTF-8", "TRACEPARENT=", "WAIT=yes")
	secrets := []secret{newSecret(rng, ""), newSecret(rng, odd)}
	// Patterns that overlap: one has the end of the other.
	patterns := []string{secrets[0].pattern, secrets[1].pattern, "(?s)" + secrets[0].text[6:] + ".?", secrets[1].text[:8] + "[A-Za-z0-9]{2,}"}
	rng.Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
	if err := os.WriteFile(filepath.Join(dir, "patterns"), []byte(strings.Join(patterns[1:], "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	options := []string{"--redact=" + patterns[0], "--redact-file=patterns"}
	if strings.Contains(patterns[0], "\n") || strings.Contains(strings.Join(patterns[1:], ""), "\n") {
		options = nil
		for _, p := range patterns {
			options = append(options, "--redact="+p)
		}
	}
	n := 48 + rng.IntN(100)
	command := telling(t, dir, secrets, n, shells)
	run := func(name string, args ...string) (stderr []byte) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, errs.Bytes())
		}
		return errs.Bytes()
	}
	show := func(what string, b []byte) {
		t.Helper()
		for _, s := range secrets {
			if part := s.shown(b); part != "" {
				k := bytes.Index(b, []byte(part))
				t.Errorf("%s shows %q of %q: %q", what, part, s.text, b[max(k-60, 0):min(k+60, len(b))])
			}
		}
	}

	size := "--max-data-size=" + strconv.Itoa(n)
	args := append(options, size, "-c", "-o", "x.trace", "-e", "proc,signal,syscall", "-y", "--report=x.html", "--live=live", "--stream-size=4M")
	if i%3 == 1 {
		args = append(args, "--stack")
	}
	if i%3 == 2 {
		args = append(args, "--pty=yes")
	}
	run("ptrace-run", append(args, command...)...)
	noSecret(t, secrets, "ptrace-run", filepath.Join(dir, "x.trace"), filepath.Join(dir, "x.html"), filepath.Join(dir, "live"), filepath.Join(dir, "snapshot"))

	// What ptrace-run itself shows.
	quiet := slices.Clone(command)
	quiet[2] = strings.Replace(tellingScript, "cat out; cat out >&2", "", 1)
	args = append(options, size, "-e", "proc,syscall", "--dump=always", "--last=10000", "--live", "--summary", "-x", "q."+secrets[0].text+"*", "--")
	show("the messages of ptrace-run", run("ptrace-run", append(args, quiet...)...))

	// A stream of ptrace-create, with and without a log.
	for _, log := range []string{"", "-o y.trace"} {
		create := `eval "$(ptrace-create -s --export ` + log + ` ` + size + ` "$@" ci)"; exec 3>&1 >/dev/null 2>&1; set -- "$ONE" "$TWO"; (` + strings.Replace(tellingScript, "exit 0", "", 1) + `); ptrace-ctl status ci; ptrace-dump --peek ci >&3; ptrace-ctl shutdown ci`
		cmd := exec.Command("bash", append([]string{"-c", create, "bash"}, options...)...)
		cmd.Dir, cmd.Env = dir, append(env, "ONE="+command[4], "TWO="+command[5])
		out, err := cmd.Output()
		if err != nil || !bytes.Contains(out, []byte("app.login")) {
			t.Fatalf("%v: %s", err, out)
		}
		show("ptrace-dump", out)
		paths := []string{filepath.Join(dir, "snapshot")}
		if log != "" {
			paths = append(paths, filepath.Join(dir, "y.trace"))
		}
		noSecret(t, secrets, "ptrace-create "+log, paths...)
	}

	// A log that has the secrets, and is shown without.
	env = append(env, "WAIT=")
	run("ptrace-run", append([]string{size, "-c", "-o", "lines.trace", "-e", "proc", "--"}, command...)...)
	// Shells read in pieces, of which a log has only the beginnings.
	run("ptrace-run", append([]string{"-c", "-o", "z.trace", "-e", "proc,signal,syscall", "-x", "syscall.read", "-y", "--stream-size=4M", "--"}, command...)...)
	for _, log := range []string{"lines.trace", "z.trace"} {
		if b, err := os.ReadFile(filepath.Join(dir, log)); err != nil || secrets[0].shown(b) == "" || secrets[1].shown(b) == "" {
			t.Fatal("the log without --redact has no secrets", err)
		}
	}
	for _, form := range []string{"", "-j", "lines.trace", "-j lines.trace", "--csv lines.trace", "--csv", "--table", "--chrome", "--golden", "--tree", "--timeline", "--folded", "--junit", "--strace", "--markdown", "--html", "-s", "-a -j", "--types", "--annotate=rel", "--format=%x%d", "--slower-than=0s"} {
		log := []string{"z.trace"}
		if strings.HasSuffix(form, ".trace") {
			log = nil
		}
		cmd := exec.Command("ptrace-dump", append(append(strings.Fields(form), options...), log...)...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("ptrace-dump %s: %v: %s", form, err, out)
		}
		show("ptrace-dump "+form, out)
	}
	for _, format := range []string{"ctf", "otlp", "parquet"} {
		run("ptrace-export", append(options, "--to="+format, "-o", "z."+format, "z.trace")...)
		run("ptrace-export", append(options, "--to="+format, "-o", "lines."+format, "lines.trace")...)
		noSecret(t, secrets, format, filepath.Join(dir, "z."+format), filepath.Join(dir, "lines."+format))
	}
}

func uintptrOf(b *byte) uintptr { return uintptr(unsafe.Pointer(b)) }
