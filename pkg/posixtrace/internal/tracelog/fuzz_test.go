package tracelog

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// FuzzReader reads any bytes, with their checksums corrected so that the code behind the checks is
// reached.
func FuzzReader(f *testing.F) {
	for _, p := range []Policy{Append, UntilFull, Loop} {
		log, _, _ := smallLog(f, p)
		f.Add(log, false)
		f.Add(log, true)
		f.Add(log[:len(log)-1], true)
	}
	f.Fuzz(func(t *testing.T, log []byte, mend bool) {
		if len(log) > 1<<20 {
			return
		}
		log = slices.Clone(log)
		if mend {
			hostile.FixChecksums(log)
		}
		var set event.Set
		set.Add(41)
		agree(t, "it", log, nil)
		agree(t, "some of it", log, &set)
		bothWays(log, func(way string, r *Reader, err error) {
			if err != nil {
				return
			}
			r.Maps = true
			count := func() (n int) {
				var rec chunk.Record
				last, noted := uint64(0), 0
				for {
					ok, err := r.Next(&rec)
					if err != nil {
						t.Fatal(err)
					}
					if !ok {
						return
					}
					if way == "file" && rec.Tick < last || !rec.Event.Valid() || len(rec.Data) > 1<<16 {
						t.Fatalf("%s: impossible event %+v after %d", way, rec, last)
					}
					last = rec.Tick
					for m := rec.Maps; m != nil; m = m.Next {
						if noted += len(m.Data); way == "stream" && noted > len(log) {
							t.Fatalf("%d bytes of notes in %d bytes", noted, len(log))
						}
					}
					r.Clock().Nanos(rec.Tick)
					r.TypeName(rec.Event)
					n++
				}
			}
			n := count()
			r.State()
			r.Status()
			r.Types()
			r.Totals()
			if n*chunk.HeaderSize > len(log) && way == "stream" {
				t.Fatalf("%d events in %d bytes", n, len(log))
			}
			if way == "file" {
				if err := r.Select(10, 1<<40, &set); err == nil {
					if m := count(); m > n {
						t.Fatalf("%d events selected of %d", m, n)
					}
				}
			}
		})
		Text(log)
		d := &disk{b: slices.Clone(log)}
		if b, err := openBlocks(readerAt(log), int64(len(log))); err == nil && b.super.tailAt() < 1<<20 {
			if w, _, err := resume(b, &positionalSink{f: d}); err == nil {
				w.Events(makeBlock(1, 5, 2, 2, false).EventsBlock)
				if err := w.Seal(Status{}, false); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// Correcting the checksums of a log whose checksums were cleared restores the log.
func TestFixChecksumsRestoresLog(t *testing.T) {
	for _, p := range []Policy{Append, UntilFull, Loop} {
		log, _, _ := smallLog(t, p)
		b := slices.Clone(log)
		binary.LittleEndian.PutUint32(b[20:], 1)
		cleared := 0
		for off := int(openFile(t, log).Super().size); off+headerSize <= len(b); off += 8 {
			if h := b[off : off+headerSize]; bytes.Equal(h[8:16], b[24:32]) {
				binary.LittleEndian.PutUint32(h[60:], 1)
				cleared++
			}
		}
		if cleared < 5 {
			t.Fatalf("%v: %d blocks", p, cleared)
		}
		if hostile.FixChecksums(b); !bytes.Equal(b, log) {
			t.Errorf("%v: FixChecksums does not restore the log", p)
		}
	}
}

func FuzzText(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(logDir, "*.txtar"))
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		a, _ := parseArchive(string(b))
		f.Add(a.log)
	}
	f.Fuzz(func(t *testing.T, text string) {
		log, err := Encode(text)
		if err != nil {
			return
		}
		first, err := Text(log)
		if err != nil {
			return // its superblock was spoiled
		}
		again, err := Encode(first)
		if err != nil {
			t.Fatalf("%v in the text of a log:\n%s", err, first)
		}
		if _, err := Text(again); err != nil {
			t.Fatal(err)
		}
	})
}
