package openlog

import "os"

// LiveReader reads a pipe or a terminal. It flushes our output before a read blocks.
type LiveReader struct {
	f     *os.File
	Flush func()   // called before a read blocks; may be nil
	Stop  *os.File // the read end of a pipe, whose closing ends a read that blocks; may be nil
}

func (r *LiveReader) Read(p []byte) (int, error) {
	if r.Flush != nil && wouldBlock(r.f) {
		r.Flush()
	}
	if r.Stop != nil && stopped(r.f, r.Stop) {
		return 0, os.ErrClosed
	}
	return r.f.Read(p)
}
