package script_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func init() { helpers["move-secret"] = moveSecret }

// moveSecret FILE passes the bytes of a file through each system call that moves bytes, in odd pieces.
func moveSecret() {
	secret, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	defer runtime.KeepAlive(secret)
	file, err := os.Create("moved")
	if err != nil {
		panic(err)
	}
	fd := int(file.Fd())
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		panic(err)
	}
	pipe := make([]int, 2)
	unix.Pipe2(pipe, unix.O_NONBLOCK)
	buf := make([]byte, len(secret)+8)
	at := func(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
	name := append([]byte("user.x"), 0)
	path := append([]byte("moved"), 0)
	queue := append([]byte(fmt.Sprintf("q%d", os.Getpid())), 0)
	mq, _, _ := unix.Syscall6(unix.SYS_MQ_OPEN, at(queue), unix.O_CREAT|unix.O_RDWR|unix.O_NONBLOCK, 0o600, 0, 0, 0)
	unix.Syscall(unix.SYS_MQ_UNLINK, at(queue), 0, 0)
	ipc, _, _ := unix.Syscall(unix.SYS_MSGGET, 0, 0o600, 0)
	defer unix.Syscall(unix.SYS_MSGCTL, ipc, unix.IPC_RMID, 0)
	sizes := []int{17, 65, 500}
	if tracetest.Full() {
		sizes = append(sizes, 3, 64, 70)
	}
	for _, size := range sizes {
		for i := 0; i < len(secret); i += size {
			b := secret[i:min(i+size, len(secret))]
			half := len(b) / 2
			parts := [][]byte{b[:half], b[half:]}
			into := [][]byte{buf[:half], buf[half:len(b)]}
			unix.Write(fd, b)
			unix.Pwrite(fd, b, int64(i))
			unix.Writev(fd, parts)
			unix.Pwritev(fd, parts, int64(i))
			unix.Pwritev2(fd, parts, int64(i), 0)
			unix.Pread(fd, buf[:len(b)], int64(i))
			unix.Preadv(fd, into, int64(i))
			unix.Preadv2(fd, into, int64(i), 0)
			unix.Seek(fd, int64(i), 0)
			unix.Read(fd, buf[:len(b)])
			unix.Seek(fd, int64(i), 0)
			unix.Readv(fd, into)
			unix.Write(p[0], b)
			unix.Recvfrom(p[1], buf, 0)
			unix.Sendto(p[0], b, 0, &unix.SockaddrUnix{Name: "/none"})
			unix.Send(p[0], b, 0)
			unix.Read(p[1], buf)
			unix.SendmsgBuffers(p[0], parts, nil, nil, 0)
			unix.RecvmsgBuffers(p[1], into, nil, 0)
			many(p, parts, into)
			splice(pipe, parts, into)
			setxattr(at(path), at(name), fd, b, buf)
			unix.Syscall6(unix.SYS_MQ_TIMEDSEND, mq, at(b), uintptr(len(b)), 0, 0, 0)
			unix.Syscall6(unix.SYS_MQ_TIMEDRECEIVE, mq, at(buf), uintptr(len(buf)), 0, 0, 0)
			message := append(binary.NativeEndian.AppendUint64(nil, 1), b...)
			unix.Syscall6(unix.SYS_MSGSND, ipc, at(message), uintptr(len(b)), unix.IPC_NOWAIT, 0, 0)
			unix.Syscall6(unix.SYS_MSGRCV, ipc, at(buf), uintptr(len(b)), 0, unix.IPC_NOWAIT, 0)
			unix.Syscall6(unix.SYS_ADD_KEY, at(append([]byte("user"), 0)), at(name), at(b), uintptr(len(b)), 1<<32-2, 0)
			unix.Syscall6(unix.SYS_KEYCTL, 2, 0, at(b), uintptr(len(b)), 0, 0)
			unix.Syscall(unix.SYS_GETRANDOM, at(buf), uintptr(len(b)), 0)
			unix.Syscall(unix.SYS_BPF, 0, at(b), uintptr(len(b)))
			unix.Syscall(unix.SYS_IOCTL, uintptr(p[0]), 0x5412, at(b)) // TIOCSTI
		}
	}
}

// many passes bytes by sendmmsg(2) and recvmmsg(2).
func many(p [2]int, parts, into [][]byte) {
	type header struct {
		unix.Msghdr
		n uint32
		_ [4]byte
	}
	blocks := func(list [][]byte) []unix.Iovec {
		var out []unix.Iovec
		for _, b := range list {
			v := unix.Iovec{}
			if len(b) > 0 {
				v.Base = &b[0]
			}
			v.SetLen(len(b))
			out = append(out, v)
		}
		return out
	}
	out, in := blocks(parts), blocks(into)
	send := []header{{Msghdr: unix.Msghdr{Iov: &out[0], Iovlen: 1}}, {Msghdr: unix.Msghdr{Iov: &out[1], Iovlen: 1}}}
	receive := []header{{Msghdr: unix.Msghdr{Iov: &in[0], Iovlen: 2}}, {Msghdr: unix.Msghdr{Iov: &in[0], Iovlen: 2}}}
	unix.Syscall6(unix.SYS_SENDMMSG, uintptr(p[0]), uintptr(unsafe.Pointer(&send[0])), 2, 0, 0, 0)
	unix.Syscall6(unix.SYS_RECVMMSG, uintptr(p[1]), uintptr(unsafe.Pointer(&receive[0])), 2, unix.MSG_DONTWAIT, 0, 0)
	unix.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(os.Getpid()), uintptr(unsafe.Pointer(&in[0])), 2, uintptr(unsafe.Pointer(&out[0])), 2, 0)
	unix.Syscall6(unix.SYS_PROCESS_VM_WRITEV, uintptr(os.Getpid()), uintptr(unsafe.Pointer(&out[0])), 2, uintptr(unsafe.Pointer(&in[0])), 2, 0)
}

// splice passes bytes by vmsplice(2).
func splice(pipe []int, parts, into [][]byte) {
	v := []unix.Iovec{{}, {}}
	for i, b := range parts {
		if len(b) > 0 {
			v[i].Base = &b[0]
		}
		v[i].SetLen(len(b))
	}
	unix.Vmsplice(pipe[1], v, 0)
	unix.Read(pipe[0], into[0])
	unix.Read(pipe[0], into[1])
}

// setxattr sets and reads extended attributes in each way.
func setxattr(path, name uintptr, fd int, b, buf []byte) {
	value, size, room := uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&buf[0]))
	for _, nr := range []uintptr{unix.SYS_SETXATTR, unix.SYS_LSETXATTR} {
		unix.Syscall6(nr, path, name, value, size, 0, 0)
	}
	unix.Syscall6(unix.SYS_FSETXATTR, uintptr(fd), name, value, size, 0, 0)
	for _, nr := range []uintptr{unix.SYS_GETXATTR, unix.SYS_LGETXATTR} {
		unix.Syscall6(nr, path, name, room, uintptr(len(buf)), 0, 0)
	}
	unix.Syscall6(unix.SYS_FGETXATTR, uintptr(fd), name, room, uintptr(len(buf)), 0, 0)
}

// pieceLen is the length of a piece of a secret that nothing may show.
const pieceLen = 12

// pieces are the pieces of secrets.
type pieces struct {
	all   map[string]bool
	begin [1 << 16]bool // the two bytes that one begins with
}

func (p *pieces) add(secret string) {
	for i := range len(secret) - pieceLen + 1 {
		p.all[secret[i:i+pieceLen]] = true
		p.begin[int(secret[i])<<8|int(secret[i+1])] = true
	}
}

// in returns the first piece that b has, and where it is.
func (p *pieces) in(b []byte) (piece string, at int) {
	for i := range len(b) - pieceLen + 1 {
		if p.begin[int(b[i])<<8|int(b[i+1])] && p.all[string(b[i:i+pieceLen])] {
			return string(b[i : i+pieceLen]), i
		}
	}
	return "", -1
}

// movesSecrets has the programs that move secrets: a private key in the file key and in $KEY, a long token in
// the file token and in $TOKEN.
var movesSecrets = map[string]string{
	"bash": `printf '%s\n' "$KEY" | tr -d '\r' | cat; echo "$KEY" | cat; while read -r l; do echo "$l"; done <key
		x=$(<key); cat <<<"$KEY"; printf '%.30s' "$TOKEN"; printf '%s\n' "${TOKEN:30}"; read -rN 70 y <token; echo "$TOKEN" >moved
		/bin/echo $KEY; /bin/echo "x $TOKEN"; true "$(cat key)"; printf '%s\n' "$TOKEN" | while read -rn 1 c; do :; done`,
	"dash": `dash -c 'K=$(cat key); T=$(cat token); echo "$K" | cat; printf "%s\n" "$T"; while read -r l; do echo "$l"; done <key; /bin/echo $K'`,
	"tools": `cat key; dd if=key bs=70 status=none; dd if=token of=moved bs=65 status=none; sed -n p key; awk '{print}' key; head -c 400 token; echo; cp key moved
		tee moved <key; grep -n '' key; grep --color=always TWO token; grep --color=always -A99 BEGIN key; sort key >/dev/null; base64 key | base64 -d; cat key | (sleep 0.01; cat)`,
	"python": `python3 -c 'import os
k = open("key").read()
t = os.environ["TOKEN"]
for n in 13, 64, 65, 128:
    f = os.open("/dev/null", os.O_WRONLY)
    for i in range(0, len(k), n): os.write(f, k[i:i+n].encode())
    for i in range(0, len(t), n): os.writev(f, [t[i:i+n].encode(), b"x"])
for i in range(0, len(t), 9):
    print(t[i:i+9], end="", flush=True)
print()
print(k)'`,
	"helper": `move-secret key; move-secret token`,
}

// Whatever program moves a secret, and in whatever pieces, nothing of the secret is in what a recording leaves:
// the stream while it lives, the log, and all that shows the log.
func TestRedactMoves(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
			b[i] = letters[rng.IntN(62)]
		}
		return string(b)
	}
	// No real key: its frame, and lines of random letters.
	var lines []string
	for range 25 {
		lines = append(lines, word(64))
	}
	body := strings.Join(append(lines, word(20)), "\n")
	frame := func(what string) string { return "-----" + what + " RSA PRIVATE " + "KEY-----\n" }
	key := frame("BEGIN") + body + "\n" + frame("END")
	token := "TOK_" + word(100) + "TWO" + word(100)
	secrets := pieces{all: map[string]bool{}}
	secrets.add(body)
	secrets.add(strings.ReplaceAll(body, "\n", " "))
	secrets.add(token)

	for name, script := range movesSecrets {
		t.Run(name, func(t *testing.T) {
			if name == "python" || name == "dash" {
				tracetest.NeedProgram(t, strings.Replace(name, "python", "python3", 1))
			}
			dir := t.TempDir()
			for file, text := range map[string]string{"key": key, "token": token} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(dir, "traces"), 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			command := func(name string, args ...string) *exec.Cmd {
				cmd := exec.CommandContext(ctx, name, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PTRACE_DIR="+dir+"/traces", "PTRACE_STREAM=", "KEY="+key, "TOKEN="+token)
				return cmd
			}
			patterns := []string{"--redact=@tokens", "--redact=TOK_[A-Za-z0-9]{100,}"}
			show := func(what string, b []byte) {
				if piece, at := secrets.in(b); at >= 0 {
					t.Errorf("seed %d: %s shows %q: %q", seed, what, piece, b[max(at-60, 0):min(at+60, len(b))])
				}
			}
			record := func(log string, patterns ...string) {
				t.Helper()
				args := append(patterns, "-c", "-e", "proc,signal,syscall", "-y", "--stream-size=4M", "--report="+log+".html", "-o", log+".trace", "--",
					"bash", "-c", script+"\nrm -rf snapshot; cp -r \"$PTRACE_DIR\" snapshot")
				var stderr bytes.Buffer
				cmd := command("ptrace-run", args...)
				if cmd.Stderr = &stderr; cmd.Run() != nil {
					t.Fatalf("%v: %s", cmd.ProcessState, stderr.Bytes())
				}
				show("a message", stderr.Bytes())
			}
			record("x", patterns...)
			left := 0
			for _, root := range []string{"snapshot", "x.trace", "x.html"} {
				filepath.WalkDir(filepath.Join(dir, root), func(path string, d fs.DirEntry, err error) error {
					if err == nil && d.Type().IsRegular() {
						b, err := os.ReadFile(path)
						if err != nil {
							t.Error(err)
						}
						left++
						show(path, b)
					}
					return err
				})
			}
			if left < 3 {
				t.Fatalf("only %d files", left)
			}

			// What shows a log without secrets has none, however they got there.
			record("y")
			if b, err := os.ReadFile(filepath.Join(dir, "y.trace")); err != nil {
				t.Fatal(err)
			} else if _, at := secrets.in(b); at < 0 {
				t.Fatal("the log without --redact has no secret")
			}
			forms := []string{"", "-j", "--csv", "--chrome", "--golden", "--tree", "--folded", "--junit", "--strace", "--markdown", "--html", "--annotate=rel"}
			for _, form := range forms {
				if !tracetest.Full() && form != "-j" && form != "--strace" && form != "--html" {
					continue
				}
				for _, log := range []string{"x.trace", "y.trace"} {
					args := strings.Fields(form)
					if log == "y.trace" {
						args = append(args, patterns...)
					}
					out, err := command("ptrace-dump", append(args, log)...).CombinedOutput()
					if err != nil {
						t.Errorf("ptrace-dump %s %s: %v: %.300s", form, log, err, out)
					}
					show("ptrace-dump "+form+" "+log, out)
				}
			}
			// The lengths stay: a call that moves 65 bytes shows that it does.
			out, _ := command("ptrace-dump", "--strace", "x.trace").Output()
			if !regexp.MustCompile(`(read|write)\(.*"\*\*\*", [0-9]+\) += [1-9]`).Match(out) {
				t.Errorf("no call with the length of what it moved: %.2000s", out)
			}
		})
	}
}
