package send

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/otlp"
)

// A spool is a directory with a file for each batch, named after its content: a batch that is there
// already is not kept twice. A batch gets its name when it is whole. The export that sends one holds a
// lock on its file, so that several exports share a spool.

// maxSpool bounds the bytes in a spool.
const maxSpool = 1 << 30

var (
	batchName = regexp.MustCompile(`^[0-9a-f]{32}\.(traces|logs|metrics)\.json$`)
	tempName  = regexp.MustCompile(`^\.[0-9]+\.[0-9]+\.tmp$`)
)

// drain sends the batches in the spool, the oldest first, until one of each kind is not sent. An error
// says why the spool cannot be used.
func (s *Sender) drain() error {
	unusable := func(err error) error { return fmt.Errorf("%s: %w", s.Spool, bare(err)) }
	// MkdirAll would say of a link to nothing that it exists.
	if _, err := os.Stat(s.Spool); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return unusable(err)
		}
		if err := os.MkdirAll(s.Spool, 0o700); err != nil {
			return unusable(err)
		}
	}
	list, err := os.ReadDir(s.Spool)
	if err != nil {
		return unusable(err)
	}
	type batch struct {
		name string
		at   time.Time
	}
	var found []batch
	for _, e := range list {
		switch fi, err := e.Info(); {
		case err != nil || !fi.Mode().IsRegular():
		case tempName.MatchString(e.Name()):
			s.sweep(filepath.Join(s.Spool, e.Name()))
		case batchName.MatchString(e.Name()):
			s.inSpool += fi.Size()
			found = append(found, batch{e.Name(), fi.ModTime()})
		}
	}
	slices.SortFunc(found, func(x, y batch) int { return x.at.Compare(y.at) })
	for _, b := range found {
		if s.ctx.Err() != nil {
			break
		}
		if err := s.resend(filepath.Join(s.Spool, b.name)); err != nil {
			return unusable(err)
		}
	}
	return nil
}

// sweep removes the file of a process that was killed while it wrote: it has no lock on it any more.
func (s *Sender) sweep(path string) {
	if f := locked(path); f != nil {
		remove(f)
		f.Close()
	}
}

// locked opens a file of this user and locks it. It returns nil if another process has the lock, or has
// removed the file.
func locked(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDWR|noFollow, 0)
	if err != nil {
		return nil
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() || !lock(f) || !isOurs(f) {
		f.Close()
		return nil
	}
	return f
}

// resend sends a batch of the spool, and removes it then.
func (s *Sender) resend(path string) error {
	name := strings.TrimSuffix(path, ".json")
	k := kind(slices.Index(kindNames[:], name[strings.LastIndexByte(name, '.')+1:])) // batchName matches it
	if s.faults[k] != nil || s.Config.ends[k].unset {
		return nil
	}
	f := locked(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, otlp.MaxBatch+1))
	if err != nil || len(body) > otlp.MaxBatch {
		return nil
	}
	if !s.try(k, body) {
		if s.ctx.Err() == nil {
			// The next export begins with another batch, in case the server always fails with this one.
			now := time.Now()
			os.Chtimes(path, now, now)
		}
		return nil
	}
	s.inSpool -= int64(len(body))
	return remove(f)
}

var errFull = fmt.Errorf("the spool has %d MiB", maxSpool>>20)

// keep adds a batch to the spool.
func (s *Sender) keep(k kind, body []byte) error {
	sum := sha256.Sum256(body)
	path := filepath.Join(s.Spool, hex.EncodeToString(sum[:16])+"."+kindNames[k]+".json")
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if s.inSpool+int64(len(body)) > maxSpool {
		return errFull
	}
	f, err := s.create()
	if err != nil {
		return bare(err)
	}
	defer f.Close()
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = rename(f, path)
	}
	if err != nil {
		remove(f)
		return bare(err)
	}
	s.inSpool += int64(len(body))
	return nil
}

// create creates a file and locks it. Another export may remove it before it has the lock.
func (s *Sender) create() (*os.File, error) {
	for n := 0; ; n++ {
		path := filepath.Join(s.Spool, "."+strconv.Itoa(os.Getpid())+"."+strconv.Itoa(n)+".tmp")
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) && n < 100 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if lock(f) && isOurs(f) || n >= 100 {
			return f, nil
		}
		f.Close()
	}
}

func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}
