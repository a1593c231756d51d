// Package posixslog records the lines of log/slog as events, so that the log of a program and its trace
// points lie in one order.
//
//	slog.SetDefault(slog.New(posixslog.New(slog.NewTextHandler(os.Stderr, nil), nil)))
//	slog.Info("listening", "port", 8080)
//
// The program prints its log as before. While a stream traces it, each line is also an event:
//
//	$ ptrace-run -o web.trace ./web
//	$ ptrace-dump -e 'log.*' web.trace
//	0.004512012 31129 log.info "{\"level\":\"INFO\",\"msg\":\"listening\",\"port\":8080}"
//	$ ptrace-dump -j -e log.error web.trace | jq '.data | fromjson | .msg'
//
// # The event of a line
//
// The type is log.debug, log.info, log.warn or log.error: the highest of these levels that is not above
// the level of the line; what is below Info is log.debug. [Options.Name] replaces "log". A filter of
// the stream rejects levels: ptrace-run -x log.debug.
//
// The data is a JSON object on one line: level, msg, and the attributes in the order of the program, a
// group as an object. Values look as [slog.JSONHandler] writes them. There is no time: the event has
// the time of the call of Handle. Bytes that are not UTF-8 become U+FFFD.
//
// A stream keeps max-data-size bytes of an event (ptrace-run: 4 KiB). A longer line is cut there, and
// is no longer a whole JSON object. Readers report this: posixtrace.TruncationRecord, the member
// truncation of ptrace-dump -j, and the mark behind the data in its text.
//
// The address is that of the call of the logger. If the context of the line comes from a span, as in slog.InfoContext(ctx, ...), the event
// belongs to it: posixtrace.EventInfo.Span.
//
// # Cost
//
// In a process that no stream traces, the handler adds a few nanoseconds to a line and allocates
// nothing. A level that the next handler ignores is not formatted.
//
// # The default logger
//
// Do not wrap slog.Default().Handler() and pass the result to slog.SetDefault. That handler prints by
// package log, whose output SetDefault sends to the new default logger, so the first line would wait
// for itself. Wrap a handler of your own, as above.
package posixslog
