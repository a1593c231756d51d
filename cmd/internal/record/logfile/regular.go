package logfile

import (
	"errors"
	"os"
)

var ErrNotRegular = errors.New("not a regular file")

// Bare removes the path from an error. Use it where the path is not the user's.
func Bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
