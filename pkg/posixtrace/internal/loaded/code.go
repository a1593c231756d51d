package loaded

import "io"

// Code is a mapping that a process may execute.
type Code struct {
	Start, End uint64
	Base       uint64 // where the start of its file is in memory, 0 if nowhere
}

// maxCode bounds the mappings that Executable returns. A process may have 65530 by default.
const maxCode = 1 << 17

// Executable returns the mappings that may be executed, in the order of their addresses. maps has all
// mappings as /proc/PID/maps lists them.
func Executable(maps io.Reader) (list []Code, err error) {
	err = each(maps, func(_ []byte, e *entry, base uint64) bool {
		if e.executable {
			list = append(list, Code{e.Start, e.End, base})
		}
		return len(list) < maxCode
	})
	return list, err
}
