package unwind

// An entry of CFI is the description of a function (FDE), with one that several share (CIE):
//
//	FDE: length | distance to its CIE | start | size | augmentation | instructions
//	CIE: length | 0 | version | augmentation string | factors | column | augmentation | instructions

const (
	// maxEntry bounds the length of an entry. One of a function of a megabyte is shorter.
	maxEntry = 1 << 18
	// maxAugmentation bounds the augmentation string, such as "zPLR".
	maxAugmentation = 16
)

// common is a CIE.
type common struct {
	codeFactor uint64
	dataFactor int64
	column     uint64 // of the return address
	encoding   uint8  // of pointers in its FDEs
	sized      bool   // its FDEs have augmentation data
	signal     bool   // the function is the return from a signal handler
	program    cursor
}

// entry is an FDE.
type entry struct {
	common
	start, end uint64
	program    cursor // instructions, after those of the CIE
}

// shared is the CIE that was read last: most entries of a module have the same.
type shared struct {
	at uint64 // 0 if there is none
	common
}

// open returns a cursor for what follows the length of an entry, and where the next entry starts. ok is
// false at the end of the section.
func open(p *pages, addr uint64) (c cursor, next uint64, ok bool) {
	c = cursor{from: p, addr: addr, end: ^uint64(0)}
	n := c.number(4)
	if n == 0xffffffff {
		n = c.number(8)
	}
	if c.bad || n == 0 || n > maxEntry {
		return c, 0, false
	}
	c = c.part(n)
	return c, c.end, !c.bad
}

// readEntry reads the FDE at an address. data is the start of .eh_frame_hdr.
func readEntry(p *pages, addr, data uint64, last *shared) (e entry, ok bool) {
	c, _, ok := open(p, addr)
	if !ok {
		return e, false
	}
	at := c.addr
	back := c.number(4)
	if back == 0 || back > at || c.bad {
		return e, false
	}
	if last.at != at-back {
		if last.common, ok = readCommon(p, at-back, data); !ok {
			last.at = 0
			return e, false
		}
		last.at = at - back
	}
	e.common = last.common
	e.start = c.pointer(e.encoding, data)
	e.end, ok = plus(e.start, c.value(e.encoding))
	if e.sized {
		c.skip(c.uleb())
	}
	e.program = c
	return e, ok && !c.bad
}

func readCommon(p *pages, addr, data uint64) (k common, ok bool) {
	c, _, ok := open(p, addr)
	if !ok || c.number(4) != 0 {
		return k, false
	}
	version := c.byte()
	var letters []byte
	for b := c.byte(); b != 0 && len(letters) < maxAugmentation; b = c.byte() {
		letters = append(letters, b)
	}
	if version == 4 {
		if size, segment := c.byte(), c.byte(); size != 8 || segment != 0 {
			return k, false
		}
	}
	k.codeFactor, k.dataFactor = c.uleb(), c.sleb()
	if version == 1 {
		k.column = uint64(c.byte())
	} else {
		k.column = c.uleb()
	}
	if version != 1 && version != 3 && version != 4 || c.bad {
		return k, false
	}
	if len(letters) > 0 && letters[0] != 'z' {
		return k, false // its size is not known
	}
	if len(letters) > 0 {
		k.sized = true
		letters = letters[1:]
		a := c.part(c.uleb())
		k.readAugmentation(letters, &a, data)
		c.bad = c.bad || a.bad
	}
	k.program = c
	return k, !c.bad
}

func (k *common) readAugmentation(letters []byte, a *cursor, data uint64) {
	for _, l := range letters {
		switch l {
		case 'R':
			k.encoding = a.byte()
		case 'P': // the personality routine, for exceptions
			enc := a.byte()
			a.value(enc)
		case 'L':
			a.byte()
		case 'S':
			k.signal = true
		case 'B', 'G': // signed addresses, tagged stacks
		default:
			return // the rest is not known; its size is
		}
	}
}
