package idle

const (
	sysOpenat     = 56
	sysGetdents64 = 61
	sysPrctl      = 167
	sysGeteuid    = 175

	directory = 0o40000
	noFollow  = 0o100000
)
