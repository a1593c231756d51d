package export

import (
	"bufio"
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// writeCompileCommands writes the compilers that ran as a JSON compilation database.
func writeCompileCommands(j *job) error {
	if j.opt.dest == "-" {
		return j.writeDatabase(j.env.Stdout, "standard output")
	}
	return j.replaceFile(j.opt.dest, j.logs, func(f *os.File) error { return j.writeDatabase(f, j.opt.dest) })
}

// database is a database that is being written.
type database struct {
	w       *bufio.Writer
	entries int
	seen    map[uint64]bool // hashes of entries
	seed    maphash.Seed
	buf     []byte

	here bool     // a source exists, so that the program was built on this machine
	held [][]byte // entries of sources that do not exist, as long as that is not known
	size int      // of held

	// Compilers that are left out:
	cut     uint64 // the arguments are truncated
	nowhere uint64 // the directory is unknown
	binary  uint64 // a text is not UTF-8, as JSON is
	gone    uint64 // the source is, such as that of a configure script
}

const (
	maxSeen = 1 << 20  // entries that are compared with new ones
	maxHeld = 16 << 20 // bytes of entries whose sources do not exist; with more, the program was built elsewhere
)

func (j *job) writeDatabase(w io.Writer, name string) error {
	db := &database{w: bufio.NewWriter(w), seen: map[uint64]bool{}, seed: maphash.MakeSeed()}
	db.w.WriteByte('[')
	for _, l := range j.logs {
		b := &building{db: db, inside: map[int]bool{}}
		err := l.read(j.ctx, j, func(int64, bool) {}, func(recs []posixtrace.Record) error {
			for i := range recs {
				b.add(&recs[i])
			}
			return nil
		})
		if err != nil {
			return cli.Failure(name, logfile.Bare(err))
		}
	}
	db.release()
	if db.entries > 0 {
		db.w.WriteByte('\n')
	}
	db.w.WriteString("]\n")
	if err := db.w.Flush(); err != nil {
		return cli.Failure(name, logfile.Bare(err))
	}
	note := func(n uint64, why string) {
		if n > 0 {
			j.env.Note(cli.Plural(n, "compiler", "compilers") + " left out: " + why)
		}
	}
	note(db.cut, "the arguments are truncated; record with ptrace-run --max-data-size=256K")
	note(db.nowhere, "the directory is unknown; record with ptrace-run -e proc")
	note(db.binary, "an argument or a directory is not UTF-8")
	note(db.gone, "the source does not exist any more")
	if db.entries == 0 && db.cut+db.nowhere+db.binary == 0 {
		j.env.Note("no compiler ran in what is exported; record with ptrace-run -e proc")
	}
	return nil
}

// building follows the processes of one log.
type building struct {
	db     *database
	inside map[int]bool // processes that work for a compiler that is known
}

// maxInside bounds the processes at a time.
const maxInside = 1 << 16

func (b *building) add(rec *posixtrace.Record) {
	switch rec.ID {
	case posixtrace.EventProcFork:
		if d, err := posixtrace.DecodeFork(rec.Data); err == nil && d.Kind != posixtrace.ForkThread && b.inside[rec.PID] && len(b.inside) < maxInside {
			b.inside[d.Child] = true
		}
	case posixtrace.EventProcExit:
		delete(b.inside, rec.PID)
	case posixtrace.EventProcExec:
		d, err := posixtrace.DecodeExec(rec.Data)
		if err != nil || b.inside[rec.PID] {
			return
		}
		args := compilerOf(&d)
		if args == nil {
			return
		}
		cut := rec.Truncation != posixtrace.TruncationNone
		c := compilationOf(args, func(name string) ([]string, bool) { return readResponse(d.Dir, name) })
		if c == nil && !cut {
			return
		}
		if len(b.inside) < maxInside {
			b.inside[rec.PID] = true
		}
		switch {
		case cut:
			b.db.cut++
		case d.Dir == "":
			b.db.nowhere++
		case !utf8.ValidString(d.Dir) || slices.ContainsFunc(c.args, func(s string) bool { return !utf8.ValidString(s) }):
			b.db.binary++
		default:
			for _, source := range c.sources {
				b.db.write(d.Dir, c.args[source], c.of(source), c.output)
			}
		}
	}
}

// write writes an entry, once.
func (db *database) write(dir, file string, args []string, to string) {
	b := append(output.AppendJSONString(append(db.buf[:0], `{"directory":`...), dir), `,"arguments":[`...)
	for i, arg := range args {
		if i > 0 {
			b = append(b, ',')
		}
		b = output.AppendJSONString(b, arg)
	}
	b = output.AppendJSONString(append(b, `],"file":`...), file)
	if to != "" {
		b = output.AppendJSONString(append(b, `,"output":`...), to)
	}
	b = append(b, '}')
	db.buf = b
	hash := maphash.Bytes(db.seed, b)
	if db.seen[hash] {
		return
	}
	if len(db.seen) < maxSeen {
		db.seen[hash] = true
	}
	switch {
	case db.size > maxHeld:
	case exists(dir, file):
		db.here = true
		db.release()
	case db.here:
		db.gone++
		return
	default:
		db.held = append(db.held, bytes.Clone(b))
		if db.size += len(b); db.size > maxHeld {
			db.release()
		}
		return
	}
	db.put(b)
}

// exists reports whether a source exists, or may.
func exists(dir, file string) bool {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	_, err := os.Lstat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// release writes what is held, unless the program was built on this machine.
func (db *database) release() {
	if db.here {
		db.gone += uint64(len(db.held))
	} else {
		for _, b := range db.held {
			db.put(b)
		}
	}
	db.held = nil
}

// put writes an entry.
func (db *database) put(b []byte) {
	if db.entries++; db.entries > 1 {
		db.w.WriteByte(',')
	}
	db.w.WriteByte('\n')
	db.w.Write(b)
}
