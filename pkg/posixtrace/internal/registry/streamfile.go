package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// NewStreamFile creates the file of a stream, all zero and fully allocated. No process finds it
// before Publish; if its maker dies first, Sweep removes it. path is its path after Publish.
func (d *Dir) NewStreamFile(size int64) (f *os.File, id uint64, path string, err error) {
	if size <= 0 {
		return nil, 0, "", fmt.Errorf("stream of %d bytes: %w", size, syscall.EINVAL)
	}
	id = randomID()
	f, _, err = d.createTemp(id, size)
	if err != nil {
		return nil, 0, "", err
	}
	return f, id, d.StreamPath(id), nil
}

// Publish renames the file of a new stream to its final name. The process that created the file
// must call it.
func (d *Dir) Publish(id uint64) error {
	err := sys.RenameNoReplace(d.f, ownTempName(id), streamName(id))
	if err != nil {
		return fmt.Errorf("publish %s: %w", d.StreamPath(id), err)
	}
	return nil
}

// StreamPath returns the path of the file of stream id.
func (d *Dir) StreamPath(id uint64) string { return filepath.Join(d.path, streamName(id)) }

// OpenStreamFile opens the file of stream id for reading and writing. It does not check the
// contents. Errors: ENOENT no such stream; EACCES, EINVAL a file that cannot be ours.
func (d *Dir) OpenStreamFile(id uint64) (*os.File, error) {
	return d.openOwn(streamName(id), os.O_RDWR)
}

// OpenStreamPath opens the file of a stream by path. It also returns the directory of the file: d, if it
// is that one (nil is none), or another.
func OpenStreamPath(d *Dir, path string) (*os.File, *Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	dir, name := filepath.Split(path)
	if d != nil && filepath.Clean(dir) == d.path {
		f, err := d.openOwn(name, os.O_RDWR)
		return f, d, err
	}
	// Open the directory first, and the file relative to it: if a link replaces the directory
	// meanwhile, a later removal still removes the stream's own files.
	path = filepath.Clean(dir)
	at, st, err := sys.OpenDir(path, false)
	if at == nil {
		if st.Mode == 0 { // not even its status is known
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		return nil, nil, unsafeDir(path, &st, err)
	}
	d = &Dir{f: at, path: path}
	f, err := d.openOwn(name, os.O_RDWR)
	if err == nil {
		if err = unsafeDir(path, &st, nil); err != nil {
			f.Close()
		}
	}
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	return f, d, nil
}

// OpenStreamFrom opens the file of a stream by path. It works without /proc, too: it then opens
// the file by name, and checks it before and after.
func OpenStreamFrom(path string) (*os.File, error) {
	f, d, err := OpenStreamPath(nil, path)
	if err == nil {
		d.Close()
	}
	if !errors.Is(err, syscall.ENOSYS) || !filepath.IsAbs(path) {
		return f, err
	}
	check := func(fi fs.FileInfo, err error) (os.FileInfo, error) {
		if err != nil {
			return nil, err
		}
		return fi, checkFile(sys.StatOf(fi))
	}
	dir := filepath.Dir(path)
	if fi, err := os.Lstat(dir); err != nil {
		return nil, err
	} else if !fi.IsDir() {
		return nil, refuse(dir, "not a directory", syscall.ENOTDIR)
	} else if err := unsafeDir(dir, sys.StatOf(fi), nil); err != nil {
		return nil, err
	}
	before, err := check(os.Lstat(path))
	if err != nil {
		return nil, err
	}
	if f, err = sys.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
		return nil, err
	}
	if after, err := check(f.Stat()); err != nil || !os.SameFile(before, after) {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, syscall.ESTALE)
	}
	return f, nil
}

// StreamIDOfPath returns the id of the stream whose file has this path, in any directory.
func StreamIDOfPath(path string) (id uint64, ok bool) { return parseStreamName(filepath.Base(path)) }

// HasStreams reports whether there is any published stream.
func (d *Dir) HasStreams() (bool, error) {
	names, err := d.names()
	for _, name := range names {
		if _, ok := parseStreamName(name); ok {
			return true, nil
		}
	}
	return false, err
}

// StreamIDs returns the published streams in no meaningful order.
func (d *Dir) StreamIDs() ([]uint64, error) {
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	var ids []uint64
	for _, name := range names {
		if id, ok := parseStreamName(name); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// RemoveStream removes the file of stream id, published or not, and its spool. A missing file is no
// error. Existing mappings remain valid.
func (d *Dir) RemoveStream(id uint64) error {
	d.removeSpool(id)
	err := sys.UnlinkAt(d.f, streamName(id))
	if errors.Is(err, syscall.ENOENT) {
		err = sys.UnlinkAt(d.f, ownTempName(id))
	}
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("remove %s: %w", d.StreamPath(id), err)
	}
	return nil
}

// Free returns the free space of the directory's file system, if it is known.
func (d *Dir) Free() (bytes int64, ok bool) { return sys.Free(d.f) }
