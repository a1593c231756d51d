// Package logfile opens the log files that the commands write and read.
package logfile

import (
	"os"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// RecordedBy returns the running stream that records to a file, or nil.
func RecordedBy(fi os.FileInfo) *posixtrace.StreamInfo {
	streams, _ := posixtrace.List()
	for i := range streams {
		if streams[i].LogPath == "" {
			continue
		}
		if other, err := os.Stat(streams[i].LogPath); err == nil && os.SameFile(fi, other) {
			return &streams[i]
		}
	}
	return nil
}

// RecordedFault returns the error for replacing a file that a stream records to.
func RecordedFault(path string, s *posixtrace.StreamInfo) error {
	if s.Err != nil {
		return cli.Failf("%s: the log of active stream %s: %s", path, s.Name, cli.Reason(s.Err))
	}
	return cli.WithHint(cli.Failf("%s: the log of active stream %s", path, s.Name), "ptrace-ctl shutdown "+s.Path+" ends it")
}
