package symbols

import (
	"errors"
	"os"
	"time"
)

// openRegular opens a regular file, and returns when its content or its name last changed. Opening
// a FIFO or a device that a trace names must neither wait nor have an effect.
func openRegular(path string) (*os.File, time.Time, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
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
	return f, changed(st), nil
}
