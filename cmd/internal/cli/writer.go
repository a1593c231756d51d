package cli

import (
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

const WriterSize = 64 << 10

// Writer is a buffered standard output that remembers its first error: a command may ignore
// the errors of writes, since Flush reports them. A broken pipe on descriptor 1 ends the
// process by SIGPIPE. Writer is safe for concurrent use.
type Writer struct {
	mu      sync.Mutex
	w       io.Writer
	buf     []byte
	err     error
	checked bool
	guard   escape.Guard
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Dest returns what w writes to.
func (w *Writer) Dest() io.Writer { return w.w }

// Write appends p to the buffer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	if w.buf == nil {
		w.buf = make([]byte, 0, WriterSize+4096)
	}
	if len(p) >= WriterSize || len(w.buf)+len(p) > cap(w.buf) {
		w.flush()
	}
	if len(p) >= WriterSize { // the buffer is empty
		w.put(p)
	} else {
		w.buf = append(w.buf, p...)
		if len(w.buf) >= WriterSize {
			w.flush()
		}
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// WriteString writes s as Write writes bytes.
func (w *Writer) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Flush writes the buffer and returns the first error of the Writer.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	if len(w.buf) > 0 {
		w.put(w.buf)
		w.buf = w.buf[:0]
	}
}

func (w *Writer) put(p []byte) {
	if w.err != nil {
		return
	}
	if !w.checked {
		w.checked = true
		if f, ok := w.w.(*os.File); ok && WasClosed(f) {
			w.err = Failure("write error", syscall.EBADF)
			return
		}
	}
	if _, err := w.w.Write(w.guard.Apply(p)); err != nil {
		if readerGone(err) {
			w.err = Exit(1)
			return
		}
		if pe, ok := err.(*os.PathError); ok {
			err = pe.Err
		}
		w.err = Failure("write error", err)
	}
}
