package loaded

import (
	"bufio"
	"bytes"
	"io"
)

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
	var base uint64
	var of []byte // the file of the last mapping: device and number
	in := bufio.NewReaderSize(maps, 64<<10)
	for {
		line, err := readLine(in)
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		e, ok := parse(line)
		if !ok {
			continue
		}
		if !bytes.Equal(e.file, of) {
			of, base = append(of[:0], e.file...), 0
		}
		if e.Offset == 0 {
			base = e.Start
		}
		if e.executable && len(list) < maxCode {
			list = append(list, Code{e.Start, e.End, base})
		}
	}
}
