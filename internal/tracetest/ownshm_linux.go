package tracetest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// InOwnShm makes a command of root one of another user, or of root if uid is 0, with a /dev/shm of its own
// that has nothing but the trace directory of this process and that of the command. What a program leaves in
// the standard trace directory of a user, which other programs use at the same time, disappears with its
// last process, however that ends. The command needs a path outside /dev/shm.
func InOwnShm(t testing.TB, cmd *exec.Cmd, uid int) {
	t.Helper()
	NeedRoot(t)
	out, err := exec.Command("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/dev/shm").CombinedOutput()
	Need(t, err == nil, "mounts of our own: "+string(out))
	ours, theirs := os.Getenv("PTRACE_DIR"), ""
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	for _, e := range cmd.Env {
		if value, ok := strings.CutPrefix(e, "PTRACE_DIR="); ok {
			theirs = value
		}
	}
	const script = `uid=$1 ours=$2 theirs=$3; shift 3
case $ours in /dev/shm/*) exec 8<"$ours" ;; *) ours= ;; esac
case $theirs in "$ours") theirs= ;; /dev/shm/*) exec 9<"$theirs" ;; *) theirs= ;; esac
keep() { mkdir -p "$1" && mount --no-canonicalize --bind "/proc/self/fd/$2" "$1"; }
mount -t tmpfs -o mode=1777 none /dev/shm || exit 125
[ -z "$ours" ] || keep "$ours" 8 || exit 125
[ -z "$theirs" ] || keep "$theirs" 9 || exit 125
exec 8<&- 9<&-
[ "$uid" != 0 ] || exec "$@"
exec setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"`
	args := append([]string{"--mount", "sh", "-c", script, "sh", strconv.Itoa(uid), ours, theirs, cmd.Path}, cmd.Args[1:]...)
	in := exec.Command("unshare", args...)
	cmd.Path, cmd.Args, cmd.Err = in.Path, in.Args, in.Err
}
