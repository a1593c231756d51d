//go:build linux

package hang

// The registers of a sample, struct perf_regs: which ones, as bits, and their numbers in DWARF in this order.
const (
	sampledRegisters = 0xff01ff
	sampledSP        = 7 // in this order
	sampledPC        = 8
)

var sampledNumbers = [...]int{0, 3, 2, 1, 4, 5, 6, 7, -1, 8, 9, 10, 11, 12, 13, 14, 15}
