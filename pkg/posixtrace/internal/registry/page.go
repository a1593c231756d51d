package registry

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Page is the mapped page of a process. It is safe for concurrent use. Methods that need Dir.Lock
// say so.
type Page struct {
	d    *Dir
	proc sys.Proc
	mem  []byte
	left uint32 // the program that used the page before the process called exec, 0 if it is unknown

	// shared says that another runtime of this process, in Go or in C, has the page.
	shared bool

	// file stays open in a program that has its own page mapped: other processes reach the page
	// by that descriptor after its name was removed.
	file *os.File
}

// Page returns the page of p. With create it creates a missing page, which decides what p inherits
// (see the package comment); without, a missing page is ENOENT. Errors: ESRCH p does not run;
// EINVAL the file is damaged.
func (d *Dir) Page(p sys.Proc, create bool) (*Page, error) {
	for range 16 {
		pg, v, err := d.mapPage(p)
		switch {
		case err == nil && v == pageSound:
			return pg, nil
		case err == nil && v == pageOld:
			if err := d.removeOld(p); err != nil {
				return nil, err
			}
			continue
		case err == nil:
			return nil, fmt.Errorf("%s: not the page of process %d: %w", filepath.Join(d.path, pageName(p)), p.PID, syscall.EINVAL)
		case !errors.Is(err, syscall.ENOENT) || !create:
			return nil, err
		}
		pg, err = d.createPage(p)
		if !errors.Is(err, syscall.EEXIST) { // else another process was faster: use its page
			return pg, err
		}
	}
	return nil, fmt.Errorf("page of process %d: %w", p.PID, syscall.EAGAIN)
}

// mapPage maps the existing page of p. pg is nil unless v is pageSound.
func (d *Dir) mapPage(p sys.Proc) (pg *Page, v verdict, err error) {
	f, err := d.openOwn(pageName(p), os.O_RDWR)
	if err != nil {
		return nil, pageDamaged, err
	}
	defer func() {
		if pg == nil || pg.file == nil {
			f.Close()
		}
	}()
	st, err := sys.Fstat(f)
	if err != nil {
		return nil, pageDamaged, err
	}
	if st.Size != pageSize { // an access behind its end would fault
		return nil, pageDamaged, nil
	}
	mem, err := sys.Map(f, pageSize, true)
	if err != nil {
		return nil, pageDamaged, err
	}
	if v := checkHeader(mem, p); v != pageSound {
		sys.Unmap(mem)
		return nil, v, nil
	}
	pg = &Page{d: d, proc: p, mem: mem}
	pg.hold(f)
	return pg, pageSound, nil
}

// hold marks the page as in use if it is our own, until this program calls exec. Of another
// process's page it finds out whether that is in use.
func (pg *Page) hold(f *os.File) {
	if pg.proc == sys.SelfProc() {
		sys.HoldShared(f)
		held, err := sys.FindHeldAs(f, 0)
		pg.file, pg.shared = f, held || err != nil
		return
	}
	// In this order: a program holds the page before it sets the word.
	if by := pg.u32(offOpened).Load(); by != 0 && !sys.Held(f) {
		pg.left = by
	}
}

// removeOld removes a page of an earlier boot that happens to have the name of p's. The lock on the
// file rules out that it is the new page that another process has put in its place meanwhile.
func (d *Dir) removeOld(p sys.Proc) error {
	f, err := d.openOwn(pageName(p), os.O_RDWR)
	if err != nil {
		return ignoreMissing(err)
	}
	defer f.Close()
	if err := sys.Flock(f, true, false); err != nil {
		return err
	}
	var b [pageSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil || checkHeader(b[:], p) != pageOld {
		return nil
	}
	st, err := sys.Fstat(f)
	if err != nil || st.Nlink == 0 {
		return err
	}
	return ignoreMissing(sys.UnlinkAt(d.f, pageName(p)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return err
}

// createPage creates the page of p, with everything that p inherits, in one step. It fails with
// EEXIST when there is a page.
func (d *Dir) createPage(p sys.Proc) (*Page, error) {
	st, err := sys.Stat(int(p.PID))
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", p.PID, err)
	}
	if st.Start != p.Start || st.Dead() {
		return nil, fmt.Errorf("process %d: %w", p.PID, syscall.ESRCH)
	}
	old, err := d.findRemoved(p)
	if err != nil {
		return nil, err
	}
	defer old.close()
	chain := ancestors(&st)
	entries, family := d.inherit(&st, chain)
	if old.page != nil {
		entries, family = old.entries(entries), old.page.Family()
		done, err := d.restoreNames(old)
		defer done()
		if err != nil {
			return nil, err
		}
	} else if len(entries) == 0 {
		done, err := d.copyNames(chain, family)
		for i := 0; i < 3 && errors.Is(err, syscall.EAGAIN); i++ {
			family = randomID() // a sweep has the lock of the new file
			done, err = d.copyNames(chain, family)
		}
		defer done()
		if err != nil {
			return nil, err
		}
	}

	f, temp, err := d.createTemp(randomID(), pageSize)
	if err != nil {
		return nil, err
	}
	pg := &Page{d: d, proc: p}
	defer func() {
		if pg.file == nil {
			f.Close()
		}
	}()
	if pg.mem, err = sys.Map(f, pageSize, true); err != nil {
		sys.UnlinkAt(d.f, temp)
		return nil, err
	}
	mem := pg.mem
	pg.hold(f)
	putHeader(mem, p, st.Session)
	pg.u64(offFamily).Store(family)
	for i, e := range entries {
		pg.put(i, e)
	}
	if old.page != nil {
		// What the process has open of removed files, its present program has opened.
		pg.shared = true
		pg.u32(offUserNames).Store(old.page.u32(offUserNames).Load())
		pg.u32(offOpened).Store(old.page.u32(offOpened).Load())
		pg.u32(offGroup).Store(old.page.u32(offGroup).Load())
		// Its word must differ from all that the old page had and will get.
		pg.u32(offGeneration).Store(old.page.u32(offGeneration).Load() + 2)
	}
	pg.changed()
	if err := sys.RenameNoReplace(d.f, temp, pageName(p)); err != nil {
		sys.UnlinkAt(d.f, temp)
		pg.Close()
		return nil, fmt.Errorf("page of process %d: %w", p.PID, err)
	}
	old.redirect()
	d.tidy()
	return pg, nil
}

func (pg *Page) u32(off int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&pg.mem[off])) }

func (pg *Page) u64(off int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&pg.mem[off])) }

// Proc returns the process.
func (pg *Page) Proc() sys.Proc { return pg.proc }

// Word returns the address of the word that is zero while no stream traces the process and changes
// with every change of the entries. Load it atomically, before Entries. It is valid until Close.
func (pg *Page) Word() *uint32 { return (*uint32)(unsafe.Pointer(&pg.mem[offWord])) }

// Family returns the family of the process. It is never zero.
func (pg *Page) Family() uint64 {
	if f := pg.u64(offFamily).Load(); f != 0 {
		return f
	}
	return math.MaxUint64 // a damaged page; any number but zero works
}

// SetFamily makes the process a member of family id. Errors: EBUSY the program
// has registered names in the family it is in; EINVAL id is zero.
func (pg *Page) SetFamily(id uint64) error {
	switch {
	case id == 0:
		return fmt.Errorf("family 0: %w", syscall.EINVAL)
	case id == pg.Family():
		return nil
	case pg.u32(offUserNames).Load() != 0:
		return fmt.Errorf("process %d has event names already: %w", pg.proc.PID, syscall.EBUSY)
	}
	pg.u64(offFamily).Store(id)
	return nil
}

// AddUserNames adds n to the count of user event names that the program has registered and returns
// the sum.
func (pg *Page) AddUserNames(n int) int { return int(pg.u32(offUserNames).Add(uint32(n))) }

// Opened records that the program of the process uses the page from now on. Names that the program
// before exec registered no longer count; names that a controller has added since do (Renew), and
// those of other runtimes of this program.
func (pg *Page) Opened() {
	// The two words need not change together: the old program is gone, and a controller that
	// adds names for the new one has zeroed the first word before, or finds the page held.
	names := pg.u32(offUserNames).Load()
	me := sys.ProgramID()
	if old := pg.u32(offOpened).Swap(me); old != 0 && !(old == me && pg.shared) {
		pg.u32(offUserNames).Add(-names)
	}
}

// Renew is for a process that adds names for another one: if that has called exec, and its new
// program has not opened the page, the count restarts at zero.
func (pg *Page) Renew() {
	if pg.left == 0 {
		return
	}
	names := pg.u32(offUserNames).Load()
	if pg.u32(offOpened).CompareAndSwap(pg.left, 0) {
		pg.u32(offUserNames).Add(-names)
	}
	pg.left = 0
}

// Close unmaps the page. Neither pg nor the address that Word returned may be used again. A process
// never closes its own page.
func (pg *Page) Close() error {
	mem := pg.mem
	pg.mem = nil
	pg.Forget()
	return sys.Unmap(mem)
}
