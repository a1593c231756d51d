package resources

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// spaceWait bounds how long the file systems delay the end: one of another machine may not answer.
const spaceWait = 100 * time.Millisecond

// Full reports whether the file system of a directory has no room, and whether another file system,
// of a second directory, has none. It reports false of file systems that do not say so in time, and asks none that
// another process or machine serves: the kernel lets no process end that waits for one.
func Full(directory, temporary string) (isDirectory, isTemporary bool) {
	result := make(chan [2]bool, 1)
	go func() {
		mounts := procfs.Mounts(os.Getpid())
		first, full := noRoom(mounts, directory)
		second, other := noRoom(mounts, temporary)
		result <- [2]bool{full, other && first != second}
	}()
	select {
	case r := <-result:
		return r[0], r[1]
	case <-time.After(spaceWait):
		return false, false
	}
}

// noRoom returns the device of a directory, and whether its file system has no blocks or no inodes left. A file
// system without a number of them has no bound, or does not say.
func noRoom(mounts []procfs.Mount, dir string) (device uint64, full bool) {
	if !filepath.IsAbs(dir) {
		here, _ := os.Readlink("/proc/self/cwd") // os.Getwd asks the file system
		dir = filepath.Join(here, dir)
	}
	if m, ok := procfs.MountOf(mounts, dir); !ok || m.Served() {
		return 0, false
	}
	var st unix.Stat_t
	var fs unix.Statfs_t
	if unix.Stat(dir, &st) != nil || unix.Statfs(dir, &fs) != nil || fs.Flags&unix.ST_RDONLY != 0 {
		return 0, false
	}
	blocks := fs.Bavail
	if unix.Geteuid() == 0 {
		blocks = fs.Bfree // with those that only root may use
	}
	return uint64(st.Dev), fs.Blocks > 0 && blocks == 0 || fs.Files > 0 && fs.Ffree == 0
}
