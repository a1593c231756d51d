package posixtrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// MadeRoom returns the streams that were shut down to make room for this one when it was created,
// oldest first: only those that processes which had ended left behind (StreamInfo.Stale), and no
// more than were needed. Error: EINVAL the stream is closed. Extension.
func (s *Stream) MadeRoom() ([]StreamInfo, error) {
	if s.isClosed() {
		return nil, fail("MadeRoom", s.whyClosed(), syscall.EINVAL)
	}
	return slices.Clone(s.madeRoom), nil
}

// inRoom calls try, which takes up to size bytes and perhaps a page more of the trace directory's file
// system. As long as there is no room, streams go that nothing writes to any more. The
// caller holds the directory's lock.
func inRoom(d *registry.Dir, size int64, try func() error) (made []StreamInfo, err error) {
	err = try()
	for i := 0; i < 6 && full(err) && mapped.Load() > 0; i++ {
		// Perhaps our own streams of before have the room: their memory goes with the last
		// reference to it, in a few garbage collections.
		runtime.GC()
		time.Sleep(time.Millisecond)
		err = try()
	}
	if !full(err) {
		return nil, err
	}
	makeRoom(d, true) // those of dead owners
	stale := staleStreams(d)
	defer func() {
		for _, c := range stale {
			c.release()
		}
	}()
	// If all of them together are not enough, none of them goes.
	var most int64
	for _, c := range stale {
		most += int64(len(c.mem.Bytes()))
	}
	if free, ok := d.Free(); ok && most+free < size {
		return nil, err
	}
	for {
		if err = try(); !full(err) || len(stale) == 0 {
			return made, err
		}
		c := stale[0]
		stale = stale[1:]
		info := c.info()
		if shutdownOrphan(c, true) == nil {
			made = append(made, info)
		}
		c.release() // its memory goes with the last mapping
	}
}

// streamSizes returns what to try to make a stream of, larger ones first: cfg, or what Attr.LeastStreamSize
// allows.
func streamSizes(d *registry.Dir, cfg *stream.Config, attr *Attr, log *os.File) []*stream.Config {
	list := []*stream.Config{cfg}
	if attr == nil || attr.LeastStreamSize <= 0 {
		return list
	}
	room, known := d.Free()
	if known && cfg.Size > room/4 {
		for _, c := range staleStreams(d) {
			room += int64(len(c.mem.Bytes()))
			c.release()
		}
	}
	for a := *attr; ; {
		if a.StreamSize = a.streamSize(log != nil) / 4; a.StreamSize < a.LeastStreamSize {
			break
		}
		c, err := resolve(&a, log)
		if err != nil || c.Size >= list[len(list)-1].Size {
			break
		}
		list = append(list, c)
	}
	for known && len(list) > 1 && list[0].Size > room/4 {
		list = list[1:]
	}
	return list
}

// full reports whether an error is about a file system without room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// staleStreams returns the streams that processes which have ended have left behind, oldest first.
func staleStreams(d *registry.Dir) (list []*conn) {
	ids, err := d.StreamIDs()
	if err != nil {
		return nil
	}
	for _, id := range ids {
		c, err := openStream(d, id)
		switch {
		case err != nil:
		case c.stale() && !c.dead():
			list = append(list, c)
		default:
			c.release()
		}
	}
	slices.SortFunc(list, olderConn)
	return list
}

func olderConn(a, b *conn) int { return a.mem.Created().Compare(b.mem.Created()) }

// noRoom makes ENOMEM of a full file system: it is memory that is short.
func noRoom(d *registry.Dir, attr *Attr, logged bool, err error) error {
	if attr == nil {
		attr = &Attr{}
	}
	size := attr.streamSize(logged)
	switch {
	case full(err):
		return roomError(fmt.Sprintf("no room for a stream of %d bytes in %s", size, d.Path()))
	case errors.Is(err, syscall.EFBIG):
		return roomError(fmt.Sprintf("a stream of %d bytes is more than the limit of a file's size", size))
	}
	return err
}

// makeRoom is tidyUp for those who do not report what it shut down.
func makeRoom(d *registry.Dir, tidy bool) error {
	_, err := tidyUp(d, tidy)
	return err
}

// tidyUp makes sure that one more stream can be active and, now and then or when
// tidy is set, tidies the trace directory up. It returns the streams that it has shut down although
// no owner's death asks for it, see Stream.MadeRoom. The caller holds the directory's lock.
func tidyUp(d *registry.Dir, tidy bool) (made []StreamInfo, err error) {
	ids, err := d.StreamIDs()
	if err != nil {
		return nil, err
	}
	if !tidy && len(ids) < SysMax && len(ids)%(SysMax/8) != 0 {
		return nil, nil
	}
	live := 0
	known := true // what every stream needs
	var stale []*conn
	keep := make(map[uint64]bool)
	families := make(map[uint64]bool)
	for _, id := range ids {
		c, err := openStream(d, id)
		switch {
		case errors.Is(err, stream.ErrFormat):
			d.RemoveStream(id)
			continue
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil: // it may well be active
			live++
			known = false
			continue
		case c.orphaned() && shutdownOrphan(c, true) == nil:
			c.release()
			continue
		}
		live++
		keep[id], families[c.mem.Family()] = true, true
		if c.stale() {
			stale = append(stale, c)
		} else {
			c.release()
		}
	}
	slices.SortFunc(stale, olderConn)
	for _, c := range stale {
		if info := c.info(); live >= SysMax && shutdownOrphan(c, true) == nil {
			made = append(made, info)
			live--
		}
		c.release()
	}
	if known {
		d.Sweep(func(id uint64) bool { return keep[id] }, families)
	}
	if live >= SysMax {
		return made, errTooMany
	}
	return made, nil
}

// nameFree makes sure that no active stream has a name but those that processes which are gone
// have left behind. The caller holds the directory's lock, and keeps it until its own
// stream is published.
func nameFree(d *registry.Dir, name string) error {
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		c, err := openStream(d, id)
		if err != nil {
			continue // gone meanwhile, or nothing that a name would find
		}
		taken := c.mem.Name == name && !c.dead() && !c.orphaned() && !c.stale()
		c.release()
		if taken {
			return errNameInUse
		}
	}
	return nil
}

// makePlace makes sure that one more stream can be attached to a process. The
// caller holds the directory's lock.
func ensureEntry(d *registry.Dir, page *registry.Page) error {
	if len(page.Entries()) < StreamsMax {
		return nil
	}
	// Some of them may be streams of the dead.
	if err := makeRoom(d, true); err != nil {
		return err
	}
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	for _, e := range page.Entries() {
		if _, there := slices.BinarySearch(ids, e.Stream); !there {
			page.Detach(e.Stream)
		}
	}
	if len(page.Entries()) >= StreamsMax {
		return errCrowded
	}
	return nil
}
