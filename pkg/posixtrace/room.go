package posixtrace

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// MadeRoom returns the streams that the creation of this one shut down to make room, oldest first.
// They are streams that ended processes had left behind (StreamInfo.Stale), and no more than were
// needed. Errors: EINVAL the stream is closed. Extension.
func (s *Stream) MadeRoom() ([]StreamInfo, error) {
	if s.isClosed() {
		return nil, fail("MadeRoom", s.whyClosed(), syscall.EINVAL)
	}
	return slices.Clone(s.madeRoom), nil
}

// inRoom calls try, which takes up to size bytes, and perhaps a page more, of the trace directory's file
// system. While there is no room, and if k.takeRoom says so, inRoom shuts down streams without a writer and
// retries. It returns the streams that it has shut down. The caller holds the directory's lock.
func (k *creation) inRoom(size int64, try func() error) (made []StreamInfo, err error) {
	d := k.dir
	err = try()
	for i := 0; i < 6 && full(err) && conn.Mapped(); i++ {
		// Streams that this process has shut down may occupy the room: the last reference to their memory
		// goes in a few garbage collections.
		runtime.GC()
		time.Sleep(time.Millisecond)
		err = try()
	}
	if !full(err) || !k.takeRoom {
		return nil, err
	}
	stale := staleStreams(d)
	defer func() {
		for _, c := range stale {
			c.Release()
		}
	}()
	// Keep them all if removing them all would not be enough.
	var sum int64
	for _, c := range stale {
		sum += int64(len(c.Mem.Bytes()))
	}
	if free, ok := d.Free(); ok && sum+free < size {
		return nil, err
	}
	for {
		if err = try(); !full(err) || len(stale) == 0 {
			return made, err
		}
		c := stale[0]
		stale = stale[1:]
		info := infoOf(c)
		if completeOrphan(c, true) == nil {
			made = append(made, info)
		}
		c.Release() // the last mapping frees the memory
	}
}

// streamSizes returns the configurations to try in turn, larger ones first: that of k and the smaller ones that
// Attr.LeastStreamSize allows.
func streamSizes(k *creation) []*stream.Config {
	d, cfg, attr, log := k.dir, k.cfg, &k.attr, k.log
	list := []*stream.Config{cfg}
	if attr.LeastStreamSize <= 0 {
		return list
	}
	room, known := d.Free()
	if known && cfg.Size > room/4 {
		for _, c := range staleStreams(d) {
			room += int64(len(c.Mem.Bytes()))
			c.Release()
		}
	}
	for a := *attr; ; {
		if a.StreamSize = a.streamSize(log != nil) / 4; a.StreamSize < a.LeastStreamSize {
			break
		}
		c, err := resolve(&a, log, k.by)
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

// full reports whether err says that a file system has no room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// staleStreams returns the streams that ended processes have left behind, oldest first.
func staleStreams(d *registry.Dir) (list []*conn.Conn) {
	ids, err := d.StreamIDs()
	if err != nil {
		return nil
	}
	for _, id := range ids {
		c, err := conn.Open(d, id)
		switch {
		case err != nil:
		case c.Stale() && !c.Dead():
			list = append(list, c)
		default:
			c.Release()
		}
	}
	slices.SortFunc(list, olderConn)
	return list
}

func olderConn(a, b *conn.Conn) int { return a.Mem.Created().Compare(b.Mem.Created()) }

// noRoom turns the error of a full file system into ENOMEM: the trace directory lies in memory.
func noRoom(d *registry.Dir, size int64, err error) error {
	switch {
	case full(err):
		return roomError(fmt.Sprintf("no room for a stream of %d bytes in %s", size, d.Path()))
	case errors.Is(err, syscall.EFBIG):
		return roomError(fmt.Sprintf("a stream of %d bytes is more than the limit of a file's size", size))
	}
	return err
}

// tidyDue reports whether the next create call tidies the directory up.
func tidyDue(d *registry.Dir) bool {
	ids, err := d.StreamIDs()
	return err == nil && due(len(ids))
}

func due(streams int) bool { return streams >= SysMax || streams%(SysMax/8) == 0 }

// orphanWait bounds how long a call for other streams waits for the lock of an orphan. The process that
// holds it may be stopped.
var orphanWait = 2 * time.Second

// shutdownOrphans shuts down the streams of dead owners and completes their logs. The caller does not hold
// the directory's lock.
func shutdownOrphans(d *registry.Dir) {
	ids, err := d.StreamIDs()
	if err != nil {
		return
	}
	for _, id := range ids {
		c, err := conn.Open(d, id)
		if err != nil {
			continue
		}
		if c.Orphaned() {
			completeOrphanSoon(c)
		}
		c.Release()
	}
}

// tidyUp makes sure that one more stream can be active. At times, and always if tidy is set, it also
// removes stale files of the trace directory. If tidy is set, and there are too many streams, it shuts down
// stale ones and returns them, see Stream.MadeRoom. The caller holds the directory's lock.
func tidyUp(d *registry.Dir, tidy bool) (made []StreamInfo, err error) {
	ids, err := d.StreamIDs()
	if err != nil {
		return nil, err
	}
	if !tidy && !due(len(ids)) {
		return nil, nil
	}
	live := 0
	known := true // keep and families are complete
	var stale []*conn.Conn
	keep := make(map[uint64]bool)
	families := make(map[uint64]bool)
	for _, id := range ids {
		c, err := conn.Open(d, id)
		switch {
		case errors.Is(err, stream.ErrFormat):
			d.RemoveStream(id)
			continue
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil: // the stream may be active
			live++
			known = false
			continue
		}
		live++
		keep[id], families[c.Mem.Family()] = true, true
		if c.Stale() && tidy {
			stale = append(stale, c)
		} else {
			c.Release()
		}
	}
	slices.SortFunc(stale, olderConn)
	for _, c := range stale {
		if info := infoOf(c); live >= SysMax && completeOrphan(c, true) == nil {
			made = append(made, info)
			live--
		}
		c.Release()
	}
	if known {
		d.Sweep(func(id uint64) bool { return keep[id] }, families)
	}
	if live >= SysMax {
		return made, fmt.Errorf("%d streams are active: %w", SysMax, syscall.EAGAIN)
	}
	return made, nil
}

// nameFree fails if an active stream has the name. Stale streams do not count. The caller holds the
// directory's lock until it has published its own stream.
func nameFree(d *registry.Dir, name string) error {
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		c, err := conn.Open(d, id)
		if err != nil {
			continue // removed meanwhile, or not a stream
		}
		taken := c.Mem.Name == name && !c.Dead() && !c.Orphaned() && !c.Stale()
		c.Release()
		if taken {
			return errNameInUse
		}
	}
	return nil
}

// ensureEntry makes sure that a process's page has room for one more stream. The caller holds the
// directory's lock.
func ensureEntry(d *registry.Dir, page *registry.Page) error {
	if len(page.Entries()) < StreamsMax {
		return nil
	}
	// Some entries may be those of removed streams.
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
		return fmt.Errorf("%d streams trace the process: %w", StreamsMax, syscall.EAGAIN)
	}
	return nil
}
