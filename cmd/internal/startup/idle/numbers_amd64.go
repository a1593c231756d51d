package idle

const (
	sysGeteuid    = 107
	sysPrctl      = 157
	sysGetdents64 = 217
	sysOpenat     = 257

	directory = 0o200000
	noFollow  = 0o400000
)
