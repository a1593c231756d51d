package dump

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A cursor file records how far streams and logs were shown. It is text: a line that
// identifies the format, then for each stream, the latest first, a line
//
//	KEY FIRST LATEST SUM,SUM...
//
// KEY identifies the stream and its log. FIRST is the time of its first event, from which
// relative times count. LATEST is the time of the latest event shown, and the sums identify
// the events of that time that were shown; see package selection.
const cursorMagic = "ptrace-dump cursor 1"

// Limits of a cursor file, which other programs may have written.
const (
	maxCursorFile    = 8 << 20
	maxCursorStreams = 256
	maxCursorSums    = 1024
)

// cursor is how far one stream or log was shown.
type cursor struct {
	selection.Position
	base  int64
	based bool
}

// cursors is a cursor file.
type cursors struct {
	path  string
	lines []cursorLine // including streams that are not inputs
	mine  []*cursor    // the cursors of the inputs
	keys  []string
	wrote string
}

type cursorLine struct{ key, rest string }

var errNoCursor = errors.New("not a cursor file")

// openCursors reads the cursor file if it exists, and positions the inputs accordingly, or
// at their start if rewind is set.
func openCursors(path string, rewind bool, inputs []*input) (*cursors, error) {
	c := &cursors{path: path}
	if err := c.read(); err != nil {
		return nil, cli.Failure(path, err)
	}
	// Report that the file is not writable before any event is shown.
	if err := logfile.MayCreateIn(filepath.Dir(path)); err != nil {
		return nil, cli.Failure(path, err)
	}
	for _, in := range inputs {
		cur, key := &cursor{}, in.key()
		i := slices.IndexFunc(c.lines, func(l cursorLine) bool { return l.key == key })
		if i >= 0 && !rewind {
			if err := cur.parse(c.lines[i].rest); err != nil {
				return nil, cli.Failure(path, err)
			}
			cur.Again()
		}
		in.cursor = cur
		c.mine, c.keys = append(c.mine, cur), append(c.keys, key)
	}
	return c, nil
}

// key returns a unique name for the stream of an input, which is also that of its log.
func (in *input) key() string {
	r := in.source.(kept).reader() // an input with a cursor is not consumed
	a, o := r.Attr(), r.Origin()
	key := strconv.FormatInt(a.CreateTime.UnixNano(), 10) + ":" + o.BootID + ":" + a.Name
	// The key is one word, as short as possible.
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '_'
		}
		return r
	}, key[:min(len(key), 512)])
}

func (c *cursors) read() error {
	f, err := os.OpenFile(c.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxCursorFile+1))
	if err != nil {
		return err
	}
	if len(b) == 0 {
		return nil // an empty file, as mktemp(1) creates
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, maxCursorFile)
	if len(b) > maxCursorFile || !lines.Scan() || lines.Text() != cursorMagic {
		return errNoCursor
	}
	for lines.Scan() {
		key, rest, ok := strings.Cut(lines.Text(), " ")
		if !ok || key == "" || len(c.lines) == maxCursorStreams || new(cursor).parse(rest) != nil {
			return errNoCursor
		}
		c.lines = append(c.lines, cursorLine{key, rest})
	}
	return nil
}

func (cur *cursor) parse(s string) error {
	f := strings.Fields(s)
	if len(f) != 3 {
		return errNoCursor
	}
	var err1, err2 error
	cur.base, err1 = strconv.ParseInt(f[0], 10, 64)
	cur.Time, err2 = strconv.ParseInt(f[1], 10, 64)
	if err1 != nil || err2 != nil {
		return errNoCursor
	}
	for _, sum := range strings.Split(f[2], ",") {
		n, err := strconv.ParseUint(sum, 16, 64)
		if err != nil || len(cur.Seen) == maxCursorSums {
			return errNoCursor
		}
		cur.Seen = append(cur.Seen, selection.Mark{Time: cur.Time, Sum: n})
	}
	cur.Started, cur.based, cur.Floor = true, true, cur.Time
	return nil
}

// save replaces the file if an event was shown since. A concurrent reader, or a reader
// after a crash, finds the old or the new file whole.
func (c *cursors) save() error {
	var b []byte
	b = append(b, cursorMagic+"\n"...)
	left := maxCursorStreams
	for i, cur := range c.mine {
		if !cur.Started {
			continue
		}
		b = append(append(b, c.keys[i]...), ' ')
		b = append(strconv.AppendInt(b, cur.base, 10), ' ')
		b = strconv.AppendInt(b, cur.Time, 10)
		// More events of one nanosecond are unlikely; some would be shown twice.
		for k, m := range cur.Seen[:min(len(cur.Seen), maxCursorSums)] {
			b = append(b, " ,"[min(k, 1)])
			b = strconv.AppendUint(b, m.Sum, 16)
		}
		b = append(b, '\n')
		left--
	}
	for _, l := range c.lines {
		if slices.Contains(c.keys, l.key) && c.mine[slices.Index(c.keys, l.key)].Started {
			continue
		}
		if left--; left < 0 || len(b)+len(l.key)+len(l.rest)+2 > maxCursorFile {
			break
		}
		b = append(append(append(append(b, l.key...), ' '), l.rest...), '\n')
	}
	if string(b) == c.wrote || len(b) == len(cursorMagic)+1 {
		return nil
	}
	if err := replaceFile(c.path, b); err != nil {
		return cli.Failure(c.path, err)
	}
	c.wrote = string(b)
	return nil
}

// replaceFile replaces a file atomically, also for a reader after a loss of power.
func replaceFile(path string, content []byte) error {
	return logfile.Replace(path, 0o600, func(f *os.File) error {
		if _, err := f.Write(content); err != nil {
			return err
		}
		return f.Sync()
	})
}

// shown records that an event was shown.
func (cur *cursor) shown(rec *posixtrace.Record, base int64) {
	if !cur.based {
		cur.based, cur.base = true, base
	}
	cur.Advance(rec)
}

// cursorBase returns the time of the first event if the cursor of the input has it.
func (in *input) cursorBase() (int64, bool) {
	if in.cursor == nil {
		return 0, false
	}
	return in.cursor.base, in.cursor.based
}
