// Package untraced keeps a program from connecting to the stream in $PTRACE_STREAM when it
// starts. The mains of the commands import it: they work with streams, and connecting as a
// writer would slow each start down.
//
// The import must take effect before pkg/posixtrace is initialized. Among the packages whose
// imports are initialized, Go initializes the one whose path sorts first. This package imports
// only package early, as pkg/posixtrace does, and its path sorts before that of pkg/posixtrace.
package untraced

import "github.com/posixtrace/posixtrace/pkg/posixtrace/tool/early"

func init() { early.Refused = true }
