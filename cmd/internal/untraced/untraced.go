// Package untraced is imported by programs that work with streams, and are not to be slowed down by
// becoming writers of the one in $PTRACE_STREAM at each start.
//
// Go initializes, of the packages whose imports are initialized, the one with the first path. This one
// imports nothing but package early, which pkg/posixtrace imports, too, and its path comes before that of
// pkg/posixtrace. So its turn is before.
package untraced

import "github.com/posixtrace/posixtrace/pkg/posixtrace/tool/early"

func init() { early.Refused = true }
