// Package catalog has the names of what events consist of: event types and sets of them, classes
// of system calls as strace(1) has them, the error numbers and signals of Linux, temporary files,
// and the spans of ptrace-run --make. It has them on each system: a reader may run on another one
// than the recorder.
package catalog
