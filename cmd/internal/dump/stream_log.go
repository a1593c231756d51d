package dump

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// watchLog returns a function that reports, once, that the log of an active stream was
// moved or removed. The reader has only the stream then, and leaves out what was flushed to
// the log. Pipes and devices are never read.
func watchLog(e *cli.Env, name string, info posixtrace.StreamInfo) func() {
	path := info.LogPath
	reported := !filepath.IsAbs(path) || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")
	var known os.FileInfo
	return func() {
		if reported {
			return
		}
		st, err := os.Stat(path)
		switch {
		case err == nil && (!st.Mode().IsRegular() || known != nil && os.SameFile(st, known)):
			return
		case err == nil && known != nil:
			err = syscall.ENOENT // another file has this name
		case err == nil:
			var r *posixtrace.Reader
			if r, err = openLeftLog(info); err == nil {
				r.Close()
				known = st
				return
			}
			if !errors.Is(err, fs.ErrPermission) {
				err = syscall.ENOENT // the file is another one
			}
		}
		reported = true
		e.Warn(cli.Failf("%s: its log %s: %s; what is in it is left out", name, path, cli.Reason(logfile.Bare(err))))
	}
}

// openLeftLog opens the log of a stream that has ended.
func openLeftLog(info posixtrace.StreamInfo) (*posixtrace.Reader, error) {
	f, err := logfile.OpenRegular(info.LogPath)
	if err == logfile.ErrNotRegular {
		err = syscall.ENOENT
	}
	if err != nil {
		return nil, err
	}
	r, err := posixtrace.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	// The file may be the log of a later stream.
	if a := r.Attr(); a.Name != info.Name || !a.CreateTime.Equal(info.CreateTime) {
		r.Close()
		f.Close()
		return nil, syscall.ENOENT
	}
	return r, nil
}
