//go:build linux && !amd64 && !arm64

package tracer

import "github.com/posixtrace/posixtrace/cmd/internal/record/unwind"

// Architecture is nil: there are no stacks.
var Architecture *unwind.Arch

// readRegisters returns false: there are no stacks for this architecture.
func readRegisters(int, *unwind.Registers) bool { return false }
