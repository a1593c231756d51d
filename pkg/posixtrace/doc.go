// Package posixtrace is POSIX Trace (IEEE Std 1003.1-2017, XSH 2.11) for Linux.
package posixtrace
