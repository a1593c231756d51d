package spool

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// rotateAt is the size at which the file is put aside.
func (t *Taker) rotateAt() int64 { return min(t.bound/4, 256<<10) }

// rotate puts the file aside. Each step can be the last; settle goes on from there.
func (t *Taker) rotate() error {
	t.d.remove(newName) // what a killed taker has left, or anybody put there
	f, err := t.d.create(newName, os.O_WRONLY)
	if err != nil {
		return err
	}
	f.Close()
	if err = t.d.link(t.d.name, oldName(t.st.gen)); err == nil {
		err = t.d.rename(newName, t.d.name)
	}
	if err != nil {
		return err
	}
	return t.turn()
}

// turn notes that the file was put aside.
func (t *Taker) turn() error {
	t.st.old = append(t.st.old, old{t.st.gen, t.st.done})
	t.st.gen++
	t.st.done = 0
	return t.save()
}

// settle finishes what a killed taker had begun of rotate.
func (t *Taker) settle() error {
	aside, err := t.d.stat(oldName(t.st.gen))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := t.d.stat(t.d.name)
	if err != nil {
		return err
	}
	if aside.Ino == now.Ino && aside.Dev == now.Dev {
		return t.d.remove(oldName(t.st.gen))
	}
	if len(t.st.old) >= maxOld {
		return errForeign
	}
	return t.turn()
}

// unopened reports whether nobody but us has f open. Then nobody else gets to
// open it either until f is closed, except by a name that only takers know, or none.
func unopened(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	switch err {
	case nil:
		return true
	case unix.EAGAIN:
		return false
	}
	// A file system without leases: go by how long nobody has written.
	fi, err := f.Stat()
	return err == nil && time.Since(fi.ModTime()) > quiet
}

// quiet is after what time nobody is taken to be about to write, where the kernel
// cannot tell.
const quiet = 10 * time.Second
