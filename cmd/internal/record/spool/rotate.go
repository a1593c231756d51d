package spool

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// rotationSize is the size at which the file is rotated.
func (c *Consumer) rotationSize() int64 { return min(c.bound/4, 256<<10) }

// rotate links the file to old.GEN and renames a new, empty file over it. If the
// consumer is killed after any of the steps, finishRotation completes the rest.
func (c *Consumer) rotate() error {
	c.d.remove(newName) // left by a killed consumer, or planted
	f, err := c.d.create(newName, os.O_WRONLY)
	if err != nil {
		return err
	}
	f.Close()
	if err = c.d.link(c.d.name, rotatedName(c.st.gen)); err == nil {
		err = c.d.rename(newName, c.d.name)
	}
	if err != nil {
		return err
	}
	return c.noteRotation()
}

// noteRotation saves that the file was rotated.
func (c *Consumer) noteRotation() error {
	c.st.rotated = append(c.st.rotated, rotated{c.st.gen, c.st.done})
	c.st.gen++
	c.st.done = 0
	return c.save()
}

// finishRotation completes or undoes the rotation of a consumer that was killed in it.
func (c *Consumer) finishRotation() error {
	linked, err := c.d.stat(rotatedName(c.st.gen))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	current, err := c.d.stat(c.d.name)
	if err != nil {
		return err
	}
	if linked.Ino == current.Ino && linked.Dev == current.Dev { // linked, but not replaced
		return c.d.remove(rotatedName(c.st.gen))
	}
	if len(c.st.rotated) >= maxRotated {
		return errNotSpool
	}
	return c.noteRotation()
}

// solelyOpen reports whether f is the only open file description of its file. If so, it
// takes a lease, and no other process can open the file until f is closed, except by a
// name that only consumers know, if it has one.
func solelyOpen(f *os.File) bool {
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
