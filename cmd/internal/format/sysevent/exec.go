package sysevent

import "bytes"

// Exec returns the parts of the data of EventProcExec that posixtrace.DecodeExec would decode, in the memory of
// data: the path and the arguments, each of which ends with a NUL unless the record is truncated there, and what
// follows them. ok is false if the data is malformed.
func Exec(data []byte) (program, more []byte, ok bool) {
	if len(data) <= execHeader {
		return nil, nil, false
	}
	size, program := le.Uint32(data), data[execHeader:]
	if uint64(size) <= uint64(len(program)) {
		return program[:size], program[size:], size > 0
	}
	return program, nil, true
}

// ExecHead returns the part of the data of EventProcExec with the path and the arguments. It is such data.
func ExecHead(data []byte) []byte {
	if program, _, ok := Exec(data); ok {
		return data[:execHeader+len(program)]
	}
	return data
}

// ExecHow returns the part of the data of EventProcExec behind the arguments with the directory and the standard
// descriptors, without the environment. Behind ExecHead it is such data.
func ExecHow(data []byte) []byte {
	_, more, _ := Exec(data)
	for n := 0; n < len(more); {
		i := bytes.IndexByte(more[n:], 0)
		if i < 0 || bytes.IndexByte([]byte("ue"), more[n]) >= 0 {
			return more[:n]
		}
		n += i + 1
	}
	return more
}

// ExecPath returns the path in the data of EventProcExec.
func ExecPath(data []byte) []byte {
	path, _, _ := bytes.Cut(data[min(execHeader, len(data)):], []byte{0})
	return path
}

// execHeader is the size of the size that precedes the path.
const execHeader = 4
