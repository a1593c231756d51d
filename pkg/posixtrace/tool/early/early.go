// Package early lets a command prevent package posixtrace from connecting it to the stream of
// $PTRACE_STREAM before main. It imports nothing: posixtrace imports it, so that it is initialized
// first. It is for the commands of this module and has no promise of stability.
package early

// Refused reports whether the program connects at its first event only. A command sets it while
// it is initialized.
var Refused bool
