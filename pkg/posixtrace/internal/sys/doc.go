// Package sys is the package's only way to the kernel: identity of processes, clocks, shared memory,
// file locks, and files relative to a directory. It is the only importer of golang.org/x/sys/unix.
// Every call in it retries a system call that a signal interrupted.
package sys
