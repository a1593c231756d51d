//go:build linux

package hang

import "golang.org/x/sys/unix"

// WithoutAttach makes Look see what it sees if ptrace(2) of the processes is not permitted, as by Yama of those
// that are no descendants: neither system calls nor memory.
func (o Options) WithoutAttach() Options {
	o.refused = unix.EPERM
	return o
}
