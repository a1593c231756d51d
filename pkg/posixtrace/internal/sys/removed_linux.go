package sys

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const removedMark = " (deleted)" // proc(5) appends it to the path of a removed file

// OpenRemoved opens, for reading and writing, the removed files that a process still has open and
// whose name want accepts. The files returned have their former name, without directory.
func OpenRemoved(pid int, want func(name string) bool) (files []*os.File) {
	path := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	fds, _ := dir.Readdirnames(-1)
	for _, fd := range fds {
		link, err := os.Readlink(path + "/" + fd)
		if err != nil {
			continue
		}
		link, removed := strings.CutSuffix(link, removedMark)
		if name := filepath.Base(link); removed && want(name) {
			if f := openRemoved(path+"/"+fd, name); f != nil {
				files = append(files, f)
			}
		}
	}
	return files
}

// openRemoved opens a file by its link in /proc if it is regular and has no name any more.
func openRemoved(link, name string) *os.File {
	at, err := retryInt(func() (int, error) { return unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if unix.Fstat(at, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 0 {
		return nil
	}
	fd, err := retryInt(func() (int, error) {
		return unix.Open("/proc/self/fd/"+strconv.Itoa(at), unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil
	}
	return newFile(fd, name, unix.O_RDWR|unix.O_NONBLOCK)
}

// MapsRemoved reports whether a process maps a removed file of that name.
func MapsRemoved(pid int, name string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
	return err == nil && bytes.Contains(b, []byte("/"+name+removedMark+"\n"))
}
