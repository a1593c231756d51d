package tracer

// statusFlags has the names of the flags of an open file, with the numbers of amd64 and most other
// processors. It is for readers: the tracer names flags by the numbers of its own processor.
var statusFlags = &flagTable{mask: 3, values: []flag{{0, "O_RDONLY"}, {1, "O_WRONLY"}, {2, "O_RDWR"}}, flags: []flag{
	{0x40, "O_CREAT"}, {0x80, "O_EXCL"}, {0x100, "O_NOCTTY"}, {0x200, "O_TRUNC"}, {0x400, "O_APPEND"},
	{0x800, "O_NONBLOCK"}, {0x101000, "O_SYNC"}, {0x1000, "O_DSYNC"}, {statusDirect, "O_DIRECT"}, {statusLarge, "O_LARGEFILE"},
	{0x400000 | statusDirectory, "O_TMPFILE"}, {statusDirectory, "O_DIRECTORY"}, {statusNoFollow, "O_NOFOLLOW"}, {0x40000, "O_NOATIME"},
	{0x80000, "O_CLOEXEC"}, {0x200000, "O_PATH"},
}}

// The flags that arm64 numbers in another order: O_DIRECT and O_DIRECTORY have changed places there, and
// so have O_LARGEFILE and O_NOFOLLOW.
const (
	statusDirect    = 0x4000
	statusLarge     = 0x8000
	statusDirectory = 0x10000
	statusNoFollow  = 0x20000
)

// usualFlags returns the flags of an open file, as fcntl(2) returns them on amd64 or arm64, with the
// numbers of amd64. A log does not say which of the two recorded it, the flags nearly always do: a kernel
// of 64 bits sets O_LARGEFILE for each file that is opened by a path, and only a path can be a directory
// or followed.
func usualFlags(v uint64) uint64 {
	const pathBits, otherBits = statusLarge | statusNoFollow, statusDirect | statusDirectory
	switch v & pathBits {
	case 0: // no path
		if v&otherBits == statusDirectory {
			return v ^ otherBits
		}
	case statusNoFollow: // the O_LARGEFILE of arm64
		if v&otherBits == statusDirect || v&otherBits == statusDirectory {
			v ^= otherBits
		}
		return v ^ pathBits
	case pathBits: // both are set: a directory is usual here, direct input and output is not
		if v&otherBits == statusDirect {
			return v ^ otherBits
		}
	}
	return v
}
