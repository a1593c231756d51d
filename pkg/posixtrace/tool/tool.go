// Package tool holds what the commands of this module need of package posixtrace and other programs do
// not: the directory in which programs leave events that they cannot record themselves. It has
// no promise of stability. It may change or disappear in any release.
package tool

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/hook"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
)

// SpoolDir returns the path of the spool directory of the stream whose file is streamPath
// (StreamInfo.Path). Programs that cannot map the stream leave their events in files of that directory,
// and a command records them. A command creates the directory. The package does not read it, and removes
// it and its files with the stream.
//
// sealed is the path that a command may rename the directory to before the stream is removed:
// programs then no longer find it. Both paths are "" if streamPath is not the path of a stream's file.
// SpoolDir is safe for concurrent use.
func SpoolDir(streamPath string) (dir, sealed string) {
	dir, ok := registry.SpoolDir(streamPath)
	if !ok {
		return "", ""
	}
	sealed, _ = registry.SealedSpoolDir(streamPath)
	return dir, sealed
}

// BeforeShutdown sets the function that this process calls before it shuts a stream down, while the
// stream still records. orphan reports that the stream's owner is dead and that this process shuts the
// stream down in its place, as List, Attach, NewReader and the create functions do. f must then do no
// more than record. f may be called more than once for a stream, and by several goroutines at a time.
func BeforeShutdown(f func(s *posixtrace.Stream, orphan bool)) {
	g := func(s any, orphan bool) { f(s.(*posixtrace.Stream), orphan) }
	hook.BeforeShutdown.Store(&g)
}

// Lose adds n to the events that the stream of r has lost (posixtrace.Status.Lost), for events that
// never reached it. A suspended stream does not count them: it would not have recorded them. Like the
// methods of r, Lose is not safe for concurrent use with them.
func Lose(r *posixtrace.Recorder, n uint64) { hook.Lose(r, n) }
