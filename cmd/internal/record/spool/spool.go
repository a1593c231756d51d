// Package spool records the events of shell scripts. A shell cannot map a stream, and
// starting a program for each event is expensive. So a shell function appends a line
//
//	NAME TAB PID TAB SEC.NSEC TAB DATA NL
//
// to a file, and consumers record the lines as events. ptrace-run and the keeper of a log
// drain the file as lines come (Watcher); every other command that works with the stream
// drains it first (Consumer.Drain), and the shutdown of the stream drains the rest
// (Consumer.Finish). pt.sh and its variants have the shell functions.
//
// A spool is a directory beside the stream (tool.SpoolDir):
//
//	spool        the file that shells append to; or spool.BOUND if no watcher drains it,
//	             and the shells must keep its size below BOUND
//	old.GEN      a rotated file, kept for the shells that had it open
//	state        the progress of the consumers; also their lock, by flock(2)
//
// line.go has the format of a line, drain.go the way from files to batches, record.go the
// way from a batch to events, and date.go their times.
//
// # Exactly once
//
// A consumer holds the lock, which the kernel releases when the process dies. Before a
// consumer records a batch of lines it saves which batch it is, and afterwards that the
// batch is done. A consumer that finds a batch started and not done knows that the one
// before it was killed in it. The events of a batch have an address that identifies the
// batch and that no program's code has. So the consumer looks in the stream, and in its log,
// for the last event of the batch, and continues behind it (resume.go). A kill at any
// instant thus loses no event and duplicates none, with two exceptions, both in the
// interrupted batch. Lines that were counted as lost, and that no recorded line follows, are
// counted again. And if the batch's events have already left a stream without a log, because
// they were overwritten, or read by a program that is not one of ours, they are recorded again.
//
// When the file has grown, a consumer rotates it: it renames a new, empty file over it.
// Shells that had opened the old file may still append to it. A consumer removes the
// old file when no other process has it open, which it learns from the kernel: only then
// does the kernel grant a write lease.
//
// At the end a consumer renames (seals) the directory. From then on no shell finds the
// file, and the file is complete when no other process has it open.
//
// # Loss
//
// Lines beyond the bound, and lines that are not events (without a name, too long, or with
// the name of a system event), count as lost. A line without its newline is incomplete
// and waits; it is lost if the spool ends first.
package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// Env is the environment variable with the path of the file that shells append to.
const Env = "PTRACE_SPOOL"

const (
	stateName     = "state"
	spoolName     = "spool"
	rotatedPrefix = "old."
	newName       = "new"
)

// Create makes the spool of a stream and returns the value for PTRACE_SPOOL. watched says
// that a watcher drains the lines as they come; otherwise the name of the file contains the
// bound, for the shells to observe.
func Create(s *posixtrace.Stream, watched bool) (path string, err error) {
	info, err := s.Info()
	if err != nil {
		return "", err
	}
	attr, err := s.Attr()
	if err != nil {
		return "", err
	}
	name, _ := tool.SpoolDir(info.Path)
	d, err := makeDir(name)
	if err != nil {
		return "", err
	}
	defer d.close()
	base := spoolName
	if !watched {
		base += "." + strconv.FormatInt(2*attr.StreamSize, 10)
	}
	for _, n := range []string{base, stateName} {
		f, err := d.create(n, os.O_WRONLY)
		if err != nil {
			return "", err
		}
		f.Close()
	}
	return filepath.Join(name, base), nil
}

// Path returns the value of PTRACE_SPOOL for the stream at streamPath, "" if the stream has
// no spool.
func Path(streamPath string) string {
	name, _ := tool.SpoolDir(streamPath)
	d, err := openSpool(name)
	if err != nil {
		return ""
	}
	defer d.close()
	return filepath.Join(name, d.name)
}

// StreamOf returns the path of the stream that a value of PTRACE_SPOOL belongs to, and
// whether the value is well-formed.
func StreamOf(path string) (stream string, ok bool) {
	dir := filepath.Dir(path)
	base, ok := strings.CutPrefix(filepath.Base(dir), "l-")
	return filepath.Join(filepath.Dir(dir), "s-"+base), ok && filepath.IsAbs(path)
}

// open opens the spool of the stream at path, sealed or not. If there is none, the error
// is fs.ErrNotExist.
func open(path string) (*dir, error) {
	name, sealed := tool.SpoolDir(path)
	for _, p := range []string{name, sealed} {
		d, err := openSpool(p)
		if !errors.Is(err, fs.ErrNotExist) {
			return d, err
		}
	}
	return nil, fs.ErrNotExist
}

// openSpool opens the spool in the directory at path.
func openSpool(path string) (*dir, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, err
	}
	names, err := d.f.Readdirnames(-1)
	for _, n := range names {
		if n == spoolName || strings.HasPrefix(n, spoolName+".") {
			d.name = n
		}
	}
	if err == nil && d.name == "" {
		err = fs.ErrNotExist // another process is creating or removing it
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func rotatedName(gen int64) string { return rotatedPrefix + strconv.FormatInt(gen, 10) }
