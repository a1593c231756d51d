package spool

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// rotateAt is the size at which the file is put aside.
func (c *Consumer) rotateAt() int64 { return min(c.bound/4, 256<<10) }

// rotate puts the file aside. Each step can be the last; settle goes on from there.
func (c *Consumer) rotate() error {
	c.d.remove(newName) // what a killed taker has left, or anybody put there
	f, err := c.d.create(newName, os.O_WRONLY)
	if err != nil {
		return err
	}
	f.Close()
	if err = c.d.link(c.d.name, oldName(c.st.gen)); err == nil {
		err = c.d.rename(newName, c.d.name)
	}
	if err != nil {
		return err
	}
	return c.turn()
}

// turn notes that the file was put aside.
func (c *Consumer) turn() error {
	c.st.old = append(c.st.old, old{c.st.gen, c.st.done})
	c.st.gen++
	c.st.done = 0
	return c.save()
}

// settle finishes what a killed taker had begun of rotate.
func (c *Consumer) settle() error {
	aside, err := c.d.stat(oldName(c.st.gen))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := c.d.stat(c.d.name)
	if err != nil {
		return err
	}
	if aside.Ino == now.Ino && aside.Dev == now.Dev {
		return c.d.remove(oldName(c.st.gen))
	}
	if len(c.st.old) >= maxOld {
		return errForeign
	}
	return c.turn()
}

// unopened reports whether f is the only open file description of its file. If so,
// no other process can open the file until f is closed: the shells no longer know
// its name, and other consumers wait for the lock.
func unopened(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	switch err {
	case nil:
		return true
	case unix.EAGAIN:
		return false
	}
	// The file system has no leases: go by the time of the last write.
	fi, err := f.Stat()
	return err == nil && time.Since(fi.ModTime()) > quiet
}

// quiet is how long a file must have been left unwritten to count as closed by its
// writers, where the kernel grants no leases.
const quiet = 10 * time.Second
