package original

import "github.com/posixtrace/posixtrace/pkg/posixtrace/tool/early"

// A command does not connect to the stream in $PTRACE_STREAM when it starts: it works with streams, and
// connecting as a writer would slow each start down. This takes effect before pkg/posixtrace is
// initialized: see "Order of initialization" in package idle.
func init() { early.Refused = true }
