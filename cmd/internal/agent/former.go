package agent

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// formerVar names the agent that this one replaces, if that has been killed.
const formerVar = "POSIXTRACE_FORMER"

// formerPatience is how long an agent may take to end, in milliseconds.
const formerPatience = 10_000

// awaitFormer waits for the end of the agent before this one. The kernel marks the channel of an agent that
// is killed when it takes away its memory. The locks of its streams live until the last of its threads has
// ended, on a busy machine for a while longer, and as long its streams would pass for active.
func awaitFormer() {
	pid, err := strconv.Atoi(os.Getenv(formerVar))
	if err != nil || pid <= 0 {
		return
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !endingAgent(pid) { // another process has its number by now
		return
	}
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for err = unix.EINTR; err == unix.EINTR; {
		_, err = unix.Poll(p, formerPatience)
	}
}

// endingAgent reports whether a process is an agent without memory.
func endingAgent(pid int) bool {
	theirs, _ := procfs.Read(pid, "comm")
	ours, err := procfs.Read(os.Getpid(), "comm")
	const vsize = 23 - 3
	f := procfs.StatFields(pid)
	return err == nil && bytes.Equal(theirs, ours) && len(f) > vsize && f[vsize] == "0"
}
