//go:build linux

package hang

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
)

// A goroutine that waits for a channel, a lock or a timer has no thread. The runtime lists the goroutines in
// memory, and keeps there the stack pointer and the instruction pointer of each that waits. They are in a struct
// g, of which nothing in the program says the layout but debug information; since Go 1.5 its start is
//
//	stack{lo, hi}, stackguard0, stackguard1, _panic, _defer, m, sched{sp, pc, g, ...}
//
// where m is that of a goroutine that runs, and sched.g is the address of g itself, by which the layout is
// known to be this one.

const (
	mostGoroutines = 4096                   // that are looked at
	mostGoStacks   = 64                     // that are different
	symbolTime     = 100 * time.Millisecond // to find the list in the symbols of a large program

	goroutineLo    = 0 // in words
	goroutineHi    = 1
	goroutineM     = 6
	goroutineSP    = 7
	goroutinePC    = 8
	goroutineSelf  = 9
	goroutineWords = 10
)

// goroutines finds the stacks of the goroutines of a process that wait. t is one of its threads.
func (c *callers) goroutines(t *thread, until time.Time) (list []*stack) {
	if time.Until(until) < symbolTime {
		return nil
	}
	words := func(at uint64, n int) []uint64 {
		if n == 0 {
			return nil
		}
		b := t.memory(at, 8*n)
		if len(b) < 8*n {
			return nil
		}
		v := make([]uint64, n)
		for i := range v {
			v[i] = binary.NativeEndian.Uint64(b[8*i:])
		}
		return v
	}
	all := words(c.symbol(t.stack, "runtime.allgs"), 2) // a slice
	if all == nil {
		return nil
	}
	same := map[string]*stack{} // by the addresses
	for _, at := range words(all[0], int(min(all[1], mostGoroutines))) {
		g := words(at, goroutineWords)
		if g == nil || g[goroutineSelf] != at || g[goroutineM] != 0 || g[goroutineSP] < g[goroutineLo] || g[goroutineSP] >= g[goroutineHi] {
			continue
		}
		if time.Now().After(until) || len(list) == mostGoStacks {
			break
		}
		regs := tracer.Architecture.At(g[goroutinePC], g[goroutineSP])
		s := c.find(&regs, false, t.memoryAt)
		var key strings.Builder
		for _, f := range s.frames {
			fmt.Fprintf(&key, "%x ", f.PC)
		}
		if o := same[key.String()]; o != nil {
			o.count++
			continue
		}
		same[key.String()] = s
		list = append(list, s)
	}
	return list
}

// symbol returns the address of a variable of the program, of which the stack has a frame; 0 if it is not known.
func (c *callers) symbol(s *stack, name string) uint64 {
	if s == nil {
		return 0
	}
	path, err := os.Readlink(procfs.File(c.pid, "exe"))
	i := slices.IndexFunc(s.frames, func(f frame) bool { return f.m.Path == path })
	if err != nil || i < 0 {
		return 0
	}
	m := &s.frames[i].m
	in, err := os.Open(procfs.File(c.pid, "exe"))
	if err != nil {
		return 0
	}
	defer in.Close()
	at, offset := variable(in, name)
	if at == 0 {
		return 0
	}
	return m.Start - m.Offset + at - offset
}

// variable returns the address of a variable in an ELF file, and the difference of addresses and places in the
// file in its segment of code. They are 0 if it has none. The file is untrusted.
func variable(in io.ReaderAt, name string) (at, offset uint64) {
	defer func() {
		if recover() != nil {
			at = 0
		}
	}()
	e, err := elf.NewFile(in)
	if err != nil || e.Class != elf.ELFCLASS64 {
		return 0, 0
	}
	symbols, names := e.Section(".symtab"), e.Section(".strtab")
	const most, size = 64 << 20, 24 // bytes, of a symbol
	if symbols == nil || names == nil || symbols.Size > most || names.Size > most {
		return 0, 0
	}
	text, err := names.Data()
	if err != nil {
		return 0, 0
	}
	place := bytes.Index(text, []byte("\x00"+name+"\x00"))
	list, err := symbols.Data()
	if err != nil || place < 0 {
		return 0, 0
	}
	i := slices.IndexFunc(e.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 })
	if i < 0 {
		return 0, 0
	}
	for ; len(list) >= size; list = list[size:] {
		if e.ByteOrder.Uint32(list) == uint32(place+1) {
			return e.ByteOrder.Uint64(list[8:]), e.Progs[i].Vaddr - e.Progs[i].Off
		}
	}
	return 0, 0
}

// goroutine names the frames of a goroutine, and returns nothing for one that does not wait, or is the runtime's.
func (n *namer) goroutine(pid int, s *stack) (names []string) {
	if len(s.frames) == 0 {
		return nil
	}
	names = n.frames(pid, s)
	if !strings.HasPrefix(names[0], "runtime.gopark+") {
		return nil
	}
	outermost := ""
	for _, f := range names {
		if !strings.HasPrefix(f, "runtime.goexit+") && f != "..." {
			outermost = f
		}
	}
	if strings.HasPrefix(outermost, "runtime.") && !strings.HasPrefix(outermost, "runtime.main+") {
		return nil
	}
	title := "a goroutine:"
	if s.count > 1 {
		title = fmt.Sprintf("%d goroutines:", s.count)
	}
	return append([]string{title}, names...)
}
