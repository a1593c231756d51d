//go:build linux && !amd64 && !arm64

package tracer

import "github.com/posixtrace/posixtrace/cmd/internal/record/unwind"

var architecture *unwind.Arch

// readRegisters returns false: there are no stacks for this architecture.
func readRegisters(int, *unwind.Registers) bool { return false }
