package posixtrace

import (
	"errors"
	"fmt"
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
// retries. The caller holds the directory's lock.
func (k *creation) inRoom(size int64, try func() error) error {
	d := k.dir
	err := try()
	for i := 0; i < 6 && full(err) && conn.Mapped(); i++ {
		// Streams that this process has shut down may occupy the room: the last reference to their memory
		// goes in a few garbage collections.
		runtime.GC()
		time.Sleep(time.Millisecond)
		err = try()
	}
	if !full(err) || !k.takeRoom {
		return err
	}
	stale := conn.StaleStreams(d)
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
		return err
	}
	for {
		if err = try(); !full(err) || len(stale) == 0 {
			return err
		}
		c := stale[0]
		stale = stale[1:]
		k.shutdownStale(c)
		c.Release() // the last mapping frees the memory
	}
}

// tidyUp makes sure that one more stream can be active, see conn.Tidy.
func (k *creation) tidyUp() error { return conn.Tidy(k.dir, SysMax, k.takeRoom, k.shutdownStale) }

// shutdownStale shuts a stale stream down, see Stream.MadeRoom.
func (k *creation) shutdownStale(c *conn.Conn) error {
	info := infoOf(c)
	err := completeOrphan(c, true)
	if err == nil {
		k.made = append(k.made, info)
	}
	return err
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
		for _, c := range conn.StaleStreams(d) {
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

// noSpace turns the error of a full file system into ENOMEM: the trace directory lies in memory.
func noSpace(d *registry.Dir, size int64, err error) error {
	switch {
	case full(err):
		return roomError(fmt.Sprintf("no room for a stream of %d bytes in %s", size, d.Path()))
	case errors.Is(err, syscall.EFBIG):
		return roomError(fmt.Sprintf("a stream of %d bytes is more than the limit of a file's size", size))
	}
	return err
}
