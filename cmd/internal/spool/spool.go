// Package spool brings to a stream what shells leave for it. A shell cannot map a
// stream, and to start a program for each event is dear; so it appends a line
//
//	NAME TAB PID TAB SEC.NSEC TAB DATA NL
//
// to a file, and takers make events of the lines: ptrace-run and the keeper of a log
// as they come, and every command that has to do with the stream before it does it.
//
// A spool is a directory that goes with the stream (tool.SpoolDir):
//
//	spool        what the shells append to; or spool.BOUND where no process takes lines
//	             over all the time, and they have to see to it that this is not exceeded
//	old.GEN      one that was put aside, for those who had it open as that was done
//	state        how far the takers are; its lock (flock) is theirs
//
// # Once and only once
//
// A taker holds the lock, which the kernel drops when it dies. Before it records a
// batch of lines it writes down which, and afterwards that it is done. One that
// finds a batch begun and not done knows that its taker was killed in it. Events
// of a batch have an address that no program has and that tells the batch, so it
// looks in the stream (and its log) which of them are there, and goes on behind
// the last. So a kill at any instant makes no event appear twice and none
// missing, with two exceptions, both of the very batch: lines that were counted as lost
// and have no recorded one behind them are counted once more; and if the batch's events
// have already left a stream without log, overwritten or consumed by a program
// that is not one of ours, they are recorded once more.
//
// The file is put aside when it has grown: a new, empty one is renamed over it. Who
// had opened the old one by then may still append to it. It is removed when
// nobody has it open any more, which the kernel knows: it grants a write lease then only.
//
// At the end the directory gets another name. From then on no shell finds its
// file, and what has been written is complete when nobody has it open.
//
// # Loss
//
// Lines beyond the bound, and those that are no events (no name, a line that is
// too long, the name of a system event), are counted as lost. A line whose newline
// is missing is not complete and waits, and is lost if the end comes first.
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

// Env names the environment variable that tells shells where to append.
const Env = "PTRACE_SPOOL"

const (
	stateName = "state"
	spoolName = "spool"
	oldPrefix = "old."
	newName   = "new"
)

// Create makes the spool of a stream and returns the path for PTRACE_SPOOL. watched
// tells that a process takes lines over as they come; else the name of the file has the
// bound, for the shells to see to it.
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

// Path returns the path for PTRACE_SPOOL of a stream whose file is at streamPath, ""
// if it has no spool.
func Path(streamPath string) string {
	name, _ := tool.SpoolDir(streamPath)
	d, err := openSpool(name)
	if err != nil {
		return ""
	}
	defer d.close()
	return filepath.Join(name, d.name)
}

// StreamOf returns the path of the stream that a value of PTRACE_SPOOL belongs to.
func StreamOf(path string) (stream string, ok bool) {
	dir := filepath.Dir(path)
	base, ok := strings.CutPrefix(filepath.Base(dir), "l-")
	return filepath.Join(filepath.Dir(dir), "s-"+base), ok && filepath.IsAbs(path)
}

// open opens the spool of the stream at path, whatever its name is now.
// fs.ErrNotExist: there is none.
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
		err = fs.ErrNotExist // it is just being made, or removed
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func oldName(gen int64) string { return oldPrefix + strconv.FormatInt(gen, 10) }
