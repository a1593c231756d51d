// Package posixtest lets a test record what a program does, wait for it, and check it, without sleeping.
//
//	func TestServe(t *testing.T) {
//		tr := posixtest.Record(t)
//		go serve()
//		tr.Wait(10*time.Second, "server.ready")
//		get("/a")
//		tr.Wait(10*time.Second, "request.end")
//		tr.Order("request.begin /a", "db.query select*", "request.end")
//		tr.Count(1, "db.query")
//		tr.None("*.error")
//		tr.Golden("testdata/serve.golden")
//	}
//
// A Trace has the events of the test's process and of the processes that it starts: programs in Go and
// C, and scripts with ptrace-event. If the test fails, the last events are in its output. If events
// were lost, the test fails: nothing is concluded from a part.
//
// # Which events
//
// Wait, Count, None, AtMost, Before and Order name events by NAME or NAME DATA, with one space between the two. Both are
// patterns, in which * stands for any text and ? for any character. NAME alone matches any data.
//
// # Parallel tests
//
// A stream traces a whole process, so a Trace also has the events of tests that run at the same time.
// Either the test names the events that only it records, in Record, or it passes a context to
// what it tests, and looks at the events in the span of that context:
//
//	ctx, tr := posixtest.Record(t).Span()
//	serve(ctx)
//	tr.Order("db.query.begin", "db.query.end")
//
// An event is in a span if it starts or ends it or a span within it (posixtrace.SpanType.Start), or
// was recorded with its context (posixtrace.EventIn, slog.InfoContext with package posixslog).
//
// # Golden files
//
// Golden compares the events with a file. GoldenSpans does so for a program that does several things at a
// time: the order counts within each span only. For GoldenUnordered it does not count at all. The flag -posixtest.update writes the files instead, and so
// does -update if the tests have that flag, as many have:
//
//	var _ = flag.Bool("update", false, "rewrite golden files")
package posixtest
