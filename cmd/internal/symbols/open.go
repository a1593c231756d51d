package symbols

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// openRegular opens a regular file, and returns when its content or its name last changed. Opening
// a FIFO or a device that a trace names must neither wait nor have an effect.
func openRegular(path string) (*os.File, time.Time, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, time.Time{}, err
	}
	changed := st.ModTime()
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		changed = time.Unix(s.Ctim.Unix())
	}
	return f, changed, nil
}
