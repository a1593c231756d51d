// Package early lets a command keep pkg/posixtrace from connecting it to the stream that
// $PTRACE_STREAM leads to before main. It imports nothing: pkg/posixtrace imports it, so that it is
// initialized before. It is for the commands of this module, without promise.
package early

// Refused reports whether the program is not connected before its first event. It is set while the
// program is initialized.
var Refused bool
