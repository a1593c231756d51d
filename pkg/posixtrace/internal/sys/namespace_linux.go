package sys

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// PIDNamespace returns a number for the caller's pid namespace, 0 when it is not known. A pid means
// nothing outside of its namespace.
var PIDNamespace = known(func() uint64 {
	fi, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return 0
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
})

// initialPIDs is the initial pid namespace, which sees all processes.
const initialPIDs = 4026531836

// NamespaceGone reports whether a pid namespace has certainly no process any more. Only a process
// in the initial namespace can know.
func NamespaceGone(ns uint64) bool {
	if ns == 0 || ns == initialPIDs || PIDNamespace() != initialPIDs || !ownProc() || !ShowsAll() {
		return false
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		// Process 1 is in the initial namespace, ours, and may be protected even from root.
		if name[0] < '1' || name[0] > '9' || name == "1" {
			continue
		}
		var st unix.Stat_t
		switch err := unix.Stat("/proc/"+name+"/ns/pid", &st); {
		case err == nil && st.Ino == ns:
			return false
		case err == unix.EACCES || err == unix.EPERM:
			// Namespaces of other users' processes do not matter. A process of ours may
			// be protected.
			if unix.Stat("/proc/"+name, &st) == nil && int(st.Uid) == os.Geteuid() {
				return false
			}
		}
	}
	return true
}
