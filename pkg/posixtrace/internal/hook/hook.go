// Package hook connects packages posixtrace and tool without an import in the direction from
// posixtrace to tool. The types of posixtrace pass through it as any.
package hook

import "sync/atomic"

// BeforeShutdown is the function that tool.BeforeShutdown has set, or nil. stream is a
// *posixtrace.Stream. posixtrace calls it.
var BeforeShutdown atomic.Pointer[func(stream any, orphan bool)]

// Lose is the body of tool.Lose. recorder is a *posixtrace.Recorder. posixtrace sets it when it is
// initialized.
var Lose func(recorder any, n uint64)
