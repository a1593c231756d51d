//go:build linux

package hang

// The registers of a sample, struct perf_regs: which ones, as bits, and their numbers in DWARF in this order.
const (
	sampledRegisters = 1<<33 - 1
	sampledSP        = 31 // in this order
	sampledPC        = 32
)

var sampledNumbers = [...]int{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, -1,
}
