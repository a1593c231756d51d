//go:build !linux

package tracer

// openFlags has the names of the flags of open(2), with the numbers that most processors have on Linux.
var openFlags = &flagTable{mask: 3, values: []flag{{0, "O_RDONLY"}, {1, "O_WRONLY"}, {2, "O_RDWR"}}, flags: []flag{
	{0x40, "O_CREAT"}, {0x80, "O_EXCL"}, {0x100, "O_NOCTTY"}, {0x200, "O_TRUNC"}, {0x400, "O_APPEND"},
	{0x800, "O_NONBLOCK"}, {0x101000, "O_SYNC"}, {0x1000, "O_DSYNC"}, {0x4000, "O_DIRECT"}, {0x8000, "O_LARGEFILE"},
	{0x410000, "O_TMPFILE"}, {0x10000, "O_DIRECTORY"}, {0x20000, "O_NOFOLLOW"}, {0x40000, "O_NOATIME"},
	{0x80000, "O_CLOEXEC"}, {0x200000, "O_PATH"},
}}
