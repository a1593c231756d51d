package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/spool"
)

// The patterns of a stream are in a file in the directory of its spool, beside the stream. A process
// that finds the stream finds them, with any environment and as any user that may record. Only the user
// can read the file, and it goes with the stream. It begins with the number of matches so far:
//
//	COUNT NL "PATTERN" NL ...

// countSize is the length of the number, with its newline.
const countSize = 21

// Publish makes the patterns of s known to the processes that record in the stream at this path, which
// has a spool.
func Publish(stream string, s *Set) error { return spool.WritePatterns(stream, s.Encode()) }

// Encode returns the patterns for another process.
func (s *Set) Encode() []byte {
	b := fmt.Appendf(nil, "%0*d\n", countSize-1, 0)
	for _, text := range s.given {
		b = append(strconv.AppendQuote(b, text), '\n')
	}
	return b
}

// Shared is the set of a stream. It counts the matches. It is not safe for concurrent use. A nil
// Shared replaces nothing.
type Shared struct {
	*Set
	file  *os.File
	count uint64
}

// Of returns the set of the stream at this path, nil if it has none. If the patterns cannot be read, the
// set replaces each text as a whole.
func Of(stream string) *Shared {
	f, text, err := spool.ReadPatterns(stream)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s := &Shared{Set: Everything()}
	if err != nil {
		return s
	}
	s.file = f
	if set, ok := Decode(text); ok {
		s.Set = set
	}
	return s
}

// Decode returns the set that Encode has encoded.
func Decode(text []byte) (*Set, bool) {
	if len(text) < countSize || text[countSize-1] != '\n' {
		return nil, false
	}
	var given []string
	for line := range strings.Lines(string(text[countSize:])) {
		p, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil || !strings.HasSuffix(line, "\n") {
			return nil, false
		}
		given = append(given, p)
	}
	set, err := New(given)
	return set, err == nil
}

// Text replaces the matches in a text. cut: the text is only the beginning of one.
func (s *Shared) Text(b []byte, cut bool) []byte {
	if s == nil {
		return b
	}
	more := Ends
	if cut {
		more = Continues
	}
	b, n := s.NewLine().Piece(b, more)
	s.count += uint64(n)
	return b
}

// Words replaces the matches in the words of a list.
func (s *Shared) Words(words []Word) [][]byte {
	texts, n := s.Set.Words(words)
	s.count += uint64(n)
	return texts
}

// Add adds to the number of matches.
func (s *Shared) Add(n int) {
	if s != nil {
		s.count += uint64(n)
	}
}

// Close adds the number of matches to that of the stream, and returns the sum.
func (s *Shared) Close() (sum uint64) {
	if s == nil || s.file == nil {
		return 0
	}
	defer s.file.Close()
	fd := int(s.file.Fd())
	if s.count == 0 || !lock(fd) {
		return readCount(s.file) + s.count
	}
	sum = readCount(s.file) + s.count
	s.file.WriteAt(fmt.Appendf(nil, "%0*d", countSize-1, sum), 0)
	unix.Flock(fd, unix.LOCK_UN)
	s.count = 0
	return sum
}

// lock locks the file of the count. It gives up after a fifth of a second: a process that is stopped
// while it has the lock must not stop the script of another one. Then the count lacks some matches.
func lock(fd int) bool {
	for range 200 {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return true
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// Event is the name of the user event with the number of matches, which a shutdown records.
const Event = "redact.matches"

// Count returns the number of matches that the processes of a stream have reported. ok: the stream has
// patterns.
func Count(stream string) (n uint64, ok bool) {
	f, _, err := spool.ReadPatterns(stream)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	return readCount(f), true
}

func readCount(f *os.File) uint64 {
	var b [countSize - 1]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(string(bytes.TrimSpace(b[:])), 10, 63)
	return n
}
