package registry

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// tempLife is how long a temporary file may stay whose maker is invisible to us: it may be in
// another pid namespace.
const tempLife = time.Minute

// Sweep removes files that no process needs any more. The caller holds Dir.Lock. It removes
//
//   - pages of dead processes. It keeps a page that has a stream that keep accepts as long
//     as there are processes of the session that the process led, which may look for it;
//   - unfinished files whose maker is dead;
//   - spools of streams that are gone;
//   - names of families that no page refers to and that are not in families, which are
//     the families of the streams that stay.
func (d *Dir) Sweep(keep func(stream uint64) bool, families map[uint64]bool) error {
	names, err := d.names()
	if err != nil {
		return err
	}
	d.sweepPages(names, keep)
	d.sweepTemps(names)
	d.sweepSpools(names)
	d.sweepNames(names, families, maxNamesSwept)
	return nil
}

// Bounds of tidy: how many pages it examines, by how much files of names may outnumber pages and
// streams, and how many of those files it opens.
const (
	tidyPages = 8
	tidyNames = 4
	tidyOpen  = 16
)

// tidy is the sweep after a page was created, so that a thousand short-lived untraced processes do
// not leave a thousand files. It never waits; it lists the directory and examines a few processes,
// and once in 64 pages all of them.
func (d *Dir) tidy() { d.tidySome(rand.N(64) == 0) }

// tidySome is tidy that examines all pages and unfinished files, if so.
func (d *Dir) tidySome(all bool) {
	unlock, err := d.TryLock()
	if err != nil {
		return
	}
	defer unlock()
	names, err := d.names()
	if err != nil {
		return
	}
	there := map[uint64]bool{}
	var pages []string
	files := 0
	for _, name := range names {
		if id, ok := parseStreamName(name); ok {
			there[id] = true
		} else if _, ok := parsePageName(name); ok {
			pages = append(pages, name)
		} else if _, ok := parseNamesName(name); ok {
			files++
		}
	}
	excess := files - len(pages) - len(there)
	if !all && len(pages) > tidyPages {
		rand.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
		pages = pages[:tidyPages]
	}
	d.sweepPages(pages, func(id uint64) bool { return there[id] })
	if all {
		d.sweepTemps(names)
	}
	if excess <= tidyNames {
		return
	}
	if families, ok := d.families(there); ok {
		d.sweepNames(names, families, tidyOpen)
	}
}

// families returns the families of streams, false if that of one is unknown.
func (d *Dir) families(streams map[uint64]bool) (map[uint64]bool, bool) {
	used := map[uint64]bool{}
	for id := range streams {
		if d.FamilyOf == nil {
			return nil, false
		}
		family, err := d.FamilyOf(id)
		if err != nil && !errors.Is(err, syscall.ENOENT) {
			return nil, false
		}
		used[family] = true
	}
	return used, true
}

func (d *Dir) sweepPages(names []string, keep func(uint64) bool) {
	sessions := liveSessions()
	for _, name := range names {
		p, ok := parsePageName(name)
		if !ok || p.Alive() {
			continue
		}
		pg, v, err := d.mapPage(p)
		switch {
		case err != nil || v == pageForeign:
			continue
		case v == pageSound:
			group := pg.u32(offGroup).Load() != 0
			needed := pg.wanted(keep) && sessions(p.PID, group)
			pg.Close()
			if needed {
				continue
			}
		}
		sys.UnlinkAt(d.f, name)
	}
}

func (pg *Page) wanted(keep func(uint64) bool) bool {
	for _, e := range pg.Entries() {
		if keep == nil || keep(e.Stream) {
			return true
		}
	}
	return false
}

// liveSessions returns a function that reports whether the session id, or with group the process
// group id, has members. The first call scans all processes. Where /proc does not show all, every
// session counts as having members.
func liveSessions() func(id uint32, group bool) bool {
	var sessions, groups map[int]bool
	return func(id uint32, group bool) bool {
		if sessions == nil {
			if !sys.ShowsAll() {
				return true
			}
			sessions, groups = map[int]bool{}, map[int]bool{}
			if err := sys.EachProcess(func(s *sys.ProcStat) {
				if !s.Dead() { // such as a zombie leader
					sessions[s.Session], groups[s.Group] = true, true
				}
			}); err != nil {
				return true
			}
		}
		return sessions[int(id)] || group && groups[int(id)]
	}
}

func (d *Dir) sweepTemps(names []string) {
	for _, name := range names {
		if len(name) < 2 || name[:2] != "t-" {
			continue
		}
		p, namespace, ok := parseTempName(name)
		if ok && p.Alive() {
			continue
		}
		if ok && namespace != 0 && namespace == sys.PIDNamespace() {
			sys.UnlinkAt(d.f, name) // its maker is dead, and no other process finishes it
			continue
		}
		if st, err := sys.StatAt(d.f, name); err == nil && time.Since(st.Mtime) > tempLife {
			sys.UnlinkAt(d.f, name)
		}
	}
}

// maxNamesSwept bounds the descriptors that one sweep uses.
const maxNamesSwept = 256

// sweepNames locks the files that it may remove before it looks which families are in use. A
// process makes its page before it opens its names, and after opening them locks the file and
// checks whether it was removed. sweepNames opens at most limit files.
func (d *Dir) sweepNames(names []string, families map[uint64]bool, limit int) {
	held := map[uint64]*os.File{}
	for _, name := range names {
		id, ok := parseNamesName(name)
		if !ok || families[id] || len(held) >= limit {
			continue
		}
		f, err := d.openOwn(name, syscall.O_RDWR)
		if err != nil {
			continue
		}
		if sys.Flock(f, true, false) != nil { // in use right now
			f.Close()
			continue
		}
		held[id] = f
	}
	if len(held) == 0 {
		return
	}
	used, err := d.familiesOfPages()
	for id, f := range held {
		if err == nil && !used[id] {
			sys.UnlinkAt(d.f, namesName(id))
		}
		sys.Funlock(f)
		f.Close()
	}
}

// familiesOfPages returns the families that pages refer to. A page that it cannot read could refer
// to any: an error.
func (d *Dir) familiesOfPages() (map[uint64]bool, error) {
	procs, err := d.Pages()
	if err != nil {
		return nil, err
	}
	used := map[uint64]bool{}
	for _, p := range procs {
		b, err := d.readPage(p)
		if errors.Is(err, syscall.ENOENT) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(b) == pageSize {
			used[binary.NativeEndian.Uint64(b[offFamily:])] = true
		}
	}
	return used, nil
}

// readPage reads a page of any namespace or boot.
func (d *Dir) readPage(p sys.Proc) ([]byte, error) {
	f, err := d.openOwn(pageName(p), syscall.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, pageSize)
	n, err := f.ReadAt(b, 0)
	return b[:n], ignoreEOF(err)
}
