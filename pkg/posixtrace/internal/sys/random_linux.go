package sys

import (
	"encoding/binary"
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// Random64 returns a random number. It asks the kernel and not crypto/rand, whose initialization
// every program that uses the package would pay for at its start.
func Random64() uint64 {
	var b [8]byte
	for {
		switch n, err := unix.Getrandom(b[:], 0); {
		case err == unix.EINTR:
		case err != nil || n < len(b): // no such call: use the runtime's generator, seeded at exec
			return rand.Uint64()
		default:
			return binary.NativeEndian.Uint64(b[:])
		}
	}
}
