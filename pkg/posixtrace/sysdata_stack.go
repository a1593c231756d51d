package posixtrace

import "encoding/binary"

// A frame of a stack is a number of seven bits to a byte, the low ones first: the difference of its
// address from that of the frame before it, and two flags. Callers are often near each other.
const (
	frameInterrupted = 1 << 0
	frameGuessed     = 1 << 1
	frameFlags       = 2
	frameMask        = 1<<62 - 1 // of an address

	maxStackSize = 1<<16 - 1
)

// appendStack appends the length of the frames, and the frames.
func appendStack(b []byte, frames []SyscallFrame) []byte {
	at := len(b)
	b = append(b, 0, 0)
	from := uint64(0)
	for i := range frames {
		f := &frames[i]
		by := int64((f.Address-from)<<frameFlags) >> frameFlags
		v := uint64(by<<1^by>>63) << frameFlags
		if f.Interrupted {
			v |= frameInterrupted
		}
		if f.Guessed {
			v |= frameGuessed
		}
		next := binary.AppendUvarint(b, v)
		if len(next)-at-2 > maxStackSize {
			break
		}
		b, from = next, f.Address
	}
	binary.LittleEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	return b
}

// decodeStack decodes the stack at the start of data, and returns what follows it. Of a stack that is
// incomplete it decodes what there is.
func (d *SyscallData) decodeStack(data []byte) []byte {
	if len(data) < 2 {
		d.StackCut = true
		return nil
	}
	n := int(binary.LittleEndian.Uint16(data))
	data = data[2:]
	if n > len(data) {
		n, d.StackCut = len(data), true
	}
	from := uint64(0)
	for list := data[:n]; len(list) > 0; {
		v, size := binary.Uvarint(list)
		if size <= 0 {
			d.StackCut = true
			break
		}
		list = list[size:]
		by := v >> frameFlags
		from = (from + (by>>1 ^ -(by & 1))) & frameMask
		d.Stack = append(d.Stack, SyscallFrame{Address: from, Interrupted: v&frameInterrupted != 0, Guessed: v&frameGuessed != 0})
	}
	return data[n:]
}
