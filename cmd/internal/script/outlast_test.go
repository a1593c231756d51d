package script_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal to a whole pipeline does not end the reader of a server's output before the server: its
// last line comes through.
func TestReadersOutlastTheirInput(t *testing.T) {
	const inRun = `ptrace-run -o log setsid -w bash -c 'trap : INT TERM HUP QUIT; bash server | { echo $$ $BASHPID >pids; exec READER; } >out'`
	reads := func(reader string) string { return strings.Replace(inRun, "READER", reader, 1) }
	const logged = `ptrace-dump -e @user --format='%d\n' log | tr '\n' ' '`
	const printed = `tr '\n' ' ' <out`
	for _, tt := range []struct {
		name, script string
		show         string // what came through
		want         string
	}{
		{"tee", reads("ptrace-event --lines=tee line"), logged + "; " + printed, "x up x bye x up x bye "},
		{"tee to a full device", reads("ptrace-event --lines=tee line >/dev/full"), logged, "x up x bye "},
		{"lines", reads("ptrace-event --lines line"), logged, "x up x bye "},
		{"stdin", reads("ptrace-event --stdin line"), logged, `x up\nx bye\n `},
		{"batch", reads("ptrace-event --batch"), logged, "up bye "},
		{"log", `setsid -w bash -c 'trap : INT TERM HUP QUIT; ptrace-run -c -o /dev/fd/3 bash server 3>&1 >/dev/null | { echo $$ $BASHPID >pids; exec ptrace-dump --format="%d\n" -e output.stdout -; } >out'`, printed, "x up x bye "},
	} {
		for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
			if tt.name == "log" && sig == unix.SIGQUIT {
				continue // Ctrl-\ ends a command that shows a log
			}
			t.Run(tt.name+"/"+unix.SignalName(sig), func(t *testing.T) {
				t.Parallel()
				h := newCrashes(t)
				h.write("server", `trap 'sleep 0.1; printf "x\tbye\n"; exit 0' INT TERM HUP QUIT
printf "x\tup\n"
echo >started
while :; do sleep 0.02; done
`)
				cmd := h.start("env", "--default-signal=INT,QUIT,HUP,TERM", "bash", "-c", "ulimit -c 0; "+tt.script)
				var group, reader int
				h.wait("reader", func() bool {
					b, _ := os.ReadFile(filepath.Join(h.dir, "pids"))
					g, r, ok := strings.Cut(strings.TrimSuffix(string(b), "\n"), " ")
					group, _ = strconv.Atoi(g)
					reader, _ = strconv.Atoi(r)
					return ok && group > 0 && reader > 0
				})
				h.wait("first line", func() bool {
					_, err := os.Stat(filepath.Join(h.dir, "started"))
					return err == nil && hasRead(reader, sig)
				})
				unix.Kill(-group, sig)
				cmd.Wait()
				if got := strings.NewReplacer(`\t`, " ", "\t", " ").Replace(h.output("bash", "-c", tt.show)); got != tt.want {
					t.Errorf("%q came through, want %q", got, tt.want)
				}
			})
		}
	}
}

// hasRead reports whether a command waits for more input than its pipe has held so far, and does so
// whether or not sig comes: ptrace-event ignores it, and ptrace-dump is beyond its start.
func hasRead(pid int, sig syscall.Signal) bool {
	name := "/proc/" + strconv.Itoa(pid)
	argv, err := os.ReadFile(name + "/cmdline")
	switch {
	case err != nil:
		return false
	case strings.HasPrefix(string(argv), "ptrace-event"):
		status, _ := os.ReadFile(name + "/status")
		_, ignored, _ := strings.Cut(string(status), "\nSigIgn:\t")
		ignored, _, _ = strings.Cut(ignored, "\n")
		if set, err := strconv.ParseUint(ignored, 16, 64); err != nil || set>>(sig-1)&1 == 0 {
			return false
		}
	case strings.HasPrefix(string(argv), "ptrace-dump"):
		list, _ := filepath.Glob(name + "/task/*/wchan")
		if !slices.ContainsFunc(list, func(wchan string) bool {
			b, _ := os.ReadFile(wchan)
			return strings.HasSuffix(string(b), "pipe_read")
		}) {
			return false
		}
	default:
		return false
	}
	f, err := os.OpenFile(name+"/fd/0", os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
	return err == nil && n == 0
}

func (h *crashes) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}
