package sys

import "golang.org/x/sys/unix"

// oPath is the flag of a descriptor that names a file and reads nothing.
const oPath = unix.O_PATH
