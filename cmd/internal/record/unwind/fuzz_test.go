package unwind

import (
	"bytes"
	"testing"
)

// FuzzWalk walks stacks in a process of which every byte is untrusted, and so is its program's file.
func FuzzWalk(f *testing.F) {
	for _, m := range []*image{
		newImage(pushed, pointed, outermost),
		newImage(pushed, pointed, outermost).withoutIndex(),
		newImage(pushed, pointed, outermost).sections(),
		newImage(function{code: []byte{opDefCFAExpr, 3, exprSkip, 0xfd, 0xff}, common: atEntry}),
	} {
		m.stack(1, 2, 3, text(1, 0x20), 4, sp+0x100, text(2, 0x10))
		f.Add(m.b, uint16(imageText+0x10), uint16(imageStack), uint16(imageStack+40))
	}
	f.Fuzz(func(t *testing.T, data []byte, pc, sp, fp uint16) {
		if len(data) > 1<<17 {
			return
		}
		for _, a := range []*Arch{AMD64, ARM64} {
			regs := Registers{PC: imageBase + uint64(pc)}
			for i := range maxRegisters {
				regs.Set(i, imageBase+uint64(i)*8)
			}
			regs.Set(a.sp, imageBase+uint64(sp))
			regs.Set(a.fp, imageBase+uint64(fp))
			end := uint64(imageBase + len(data))
			w := NewWalker(a)
			target := Target{
				Space: NewSpace([]Code{{imageBase, end, imageBase}, {end, end + 64, 0}}),
				Read:  memoryOf(data),
				Exe:   func() File { return file{bytes.NewReader(data)} },
			}
			const most = 16
			for range 2 { // the second time with what the first has learned
				frames, why := w.Walk(&target, &regs, nil, most)
				if len(frames) > most || why == TooDeep && len(frames) < most {
					t.Fatalf("%d frames, end %d", len(frames), why)
				}
				for _, f := range frames {
					if !target.Space.Has(f.PC) && !target.Space.Has(f.PC-1) {
						t.Fatalf("frame %x", f.PC)
					}
				}
			}
		}
	})
}
