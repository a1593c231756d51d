//go:build amd64 || arm64

// Package idle ends ptrace-event NAME [DATA]... at once if the user has no stream: no stream can take
// the event. This is the usual state of a script with trace points.
//
// Each doubt is a reason to continue: a command line with options, a spool, a trace directory
// that does not open. The program then does its work as if this package did not exist.
//
// # Order of initialization
//
// Go initializes packages whose imports are initialized in the order of their paths. The packages
// beneath cmd/internal/startup rely on it:
//
//   - idle has no imports. It ends the program before any other package is initialized, even os.
//   - original imports only runtime and pkg/posixtrace/tool/early. It reads what package syscall changes
//     when it is initialized. Its path, which begins with cmd, sorts before that of pkg/posixtrace, which
//     imports early, too. So original tells it not to connect.
//   - plain records the event when the packages that it needs are initialized. The libraries of the
//     command line are not: their paths sort after this one, or they need a package whose path does.
//
// Only the beginnings of the paths matter, github.com/posixtrace/posixtrace/cmd and .../pkg, so
// packages beside these can be renamed. TestPlainInitializes lists what is initialized before.
package idle

import "unsafe"

func init() {
	if plain(args()) && idle(environ()) {
		exit(0)
	}
}

// The functions that set os.Args and find os.Environ.

//go:linkname args os.runtime_args
func args() []string

//go:linkname environ syscall.runtime_envs
func environ() []string

//go:linkname exit syscall.Exit
func exit(status int)

// syscall makes a system call. Its result is -errno if the call fails.
//
//go:noescape
func syscall(number, a uintptr, b unsafe.Pointer, c uintptr) int

const (
	maxName = 255 // posixtrace.EventNameMax

	atCWD       = ^uintptr(99) // AT_FDCWD
	getDumpable = 3            // PR_GET_DUMPABLE
	closeOnExec = 0o2000000    // O_CLOEXEC
)

// plain reports whether this is the program ptrace-event without options.
func plain(args []string) bool {
	return len(args) > 1 && base(args[0]) == "ptrace-event" && args[1] != "" && args[1][0] != '-' && len(args[1]) <= maxName
}

// idle reports whether there is no stream. It does not check that the trace directory is the
// user's: an event goes to no stream of a directory that the program refuses, either.
func idle(environ []string) bool {
	var dir string
	for i := range environ {
		e := environ[len(environ)-1-i] // of several values the first counts
		if v, ok := value(e, "PTRACE_SPOOL="); ok && v != "" {
			return false
		}
		if v, ok := value(e, "PTRACE_DIR="); ok {
			dir = v
		}
	}
	if syscall(sysPrctl, getDumpable, nil, 0) != 1 {
		return false // perhaps a set-uid program, for which the environment does not count
	}
	var buf [2048]byte // the path, then directory entries
	if len(dir) >= len(buf) {
		return false
	}
	path := append(buf[:0], dir...)
	if dir == "" {
		path = decimal(append(path, "/dev/shm/posixtrace-"...), syscall(sysGeteuid, 0, nil, 0))
	}
	buf[len(path)] = 0
	fd := syscall(sysOpenat, atCWD, unsafe.Pointer(&buf), directory|noFollow|closeOnExec)
	return fd >= 0 && !hasStream(uintptr(fd), buf[:])
}

// hasStream reports whether the directory fd has, or may have, the file of a stream.
func hasStream(fd uintptr, buf []byte) bool {
	// struct linux_dirent64: u64 ino, u64 off, u16 reclen, u8 type, the name
	const reclen, name = 16, 19
	for {
		n := syscall(sysGetdents64, fd, unsafe.Pointer(&buf[0]), uintptr(len(buf)))
		if n <= 0 {
			return n < 0
		}
		for b := buf[:n]; len(b) > 0; {
			size := int(b[reclen]) | int(b[reclen+1])<<8
			if b[name] == 's' && b[name+1] == '-' {
				return true
			}
			b = b[size:]
		}
	}
}

// base returns the last component of a path.
func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}

// value returns the rest of a string that begins with prefix.
func value(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || s[:len(prefix)] != prefix {
		return "", false
	}
	return s[len(prefix):], true
}

// decimal appends n in decimal.
func decimal(b []byte, n int) []byte {
	if n >= 10 {
		b = decimal(b, n/10)
	}
	return append(b, byte('0'+n%10))
}
