// Package posixtrace implements POSIX Trace (IEEE Std 1003.1-2017, XSH 2.11, with the options Trace
// Log, Trace Inherit and Trace Event Filter) for Linux. It is unrelated to ptrace(2), the system
// call of debuggers.
//
// # The model
//
// The standard has three roles. One process may have all of them, or three processes one each:
//
//   - A traced process has trace points: calls of [Event] with an event type and a few bytes of data. It does not
//     need to know whether a stream traces it: without a stream a trace point costs about a nanosecond.
//   - A controller creates a [Stream] that traces a process ([Create], [CreateWithLog]), starts and stops it,
//     and sets the event types that the stream rejects ([Stream.SetFilter]). Several streams can trace one process
//     independently.
//   - An analyzer reads the events: from an active stream without log by [Stream.Next] or [Stream.All], each event
//     once; from a log by [Open].
//
// A new stream is suspended. It records between [Stream.Start] and [Stream.Stop]. A stream is a
// piece of shared memory of fixed size. Its [FullPolicy] says what happens when it is full: new
// events overwrite the oldest ([PolicyLoop]), the stream stops until there is room
// ([PolicyUntilFull]), or its owner flushes it to its log ([PolicyFlush]). A log has such a policy,
// too. The stream counts lost events (Status.Lost), and in their place a reader finds the system
// events posix_trace_overflow and posix_trace_resume.
//
// Event types have names. A process maps a name to an [EventID] once ([OpenEventID], [MustEventID])
// and passes the id to its trace points. A trace point whose data is expensive to make asks
// [Enabled] first. The processes of a family agree on the ids: a process and the children that
// inherit its tracing (see [InheritChildren]).
//
// A program whose PTRACE_STREAM names its stream connects before main; any other program connects
// when it first opens an id or, without one, at its first trace point. Connecting needs openat(2),
// mmap(2), fcntl(2) and flock(2): a program that forbids itself these calls (seccomp(2)) connects
// first. Once connected, trace points need none of them, and neither does [OpenEventID] of a name
// that the program has opened before.
//
// # A whole program
//
// This program traces itself:
//
//	package main
//
//	import (
//		"fmt"
//		"log"
//
//		"github.com/posixtrace/posixtrace/pkg/posixtrace"
//	)
//
//	func main() {
//		// The controller: a stream that traces this process.
//		s, err := posixtrace.Create(0, nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer s.Shutdown()
//		if err := s.Start(); err != nil {
//			log.Fatal(err)
//		}
//
//		// The traced process: a name, once, and then trace points.
//		page, err := posixtrace.OpenEventID("page.fetch")
//		if err != nil {
//			log.Fatal(err)
//		}
//		for n := range 3 {
//			posixtrace.Event(page, fmt.Appendf(nil, "number %d", n))
//		}
//		if err := s.Stop(); err != nil {
//			log.Fatal(err)
//		}
//
//		// The analyzer: events come out in the order of their times.
//		for ev, err := range s.All() {
//			if err != nil {
//				log.Fatal(err)
//			}
//			if ev.ID.User() {
//				fmt.Printf("%s %q\n", ev.Name, ev.Data)
//			} else {
//				fmt.Println(ev.Name)
//			}
//		}
//	}
//
// It prints:
//
//	posix_trace_start
//	page.fetch "number 0"
//	page.fetch "number 1"
//	page.fetch "number 2"
//	posix_trace_stop
//
// # Logs
//
// [CreateWithLog] makes a stream with a log in a file. The owner flushes the stream to the log: on
// [Stream.Flush], at intervals with [PolicyFlush], and at the end. [Stream.Shutdown] completes the
// log; only then does [Open] accept it, as the standard asks. Next does not read an active stream
// with log. [Stream.Reader] reads log and stream together and consumes nothing. [NewReader] reads a
// log in any state.
//
// A stream belongs to the process that created it. The end of that process, also by SIGKILL, shuts
// the stream down: the next process that lists or creates streams, or opens the log, finds the dead
// owner and completes the shutdown. [Stream.Handover] gives a stream to another process.
//
// The death of a process loses no recorded event. A crash of the machine loses the streams, and of
// a log the part that the kernel had not written to the device: usually the last half minute.
// Events before a successful [Stream.Sync] are safe, and after [Stream.SetSync] those before any
// flush. [NewReader] reads a log that was cut off up to the last sound block.
//
// Truncating a stream file does not kill the processes that map it: the package's SIGBUS handler
// handles faults in its own mappings and forwards all others (on amd64 and arm64). The stream is
// then shut down and empty: calls fail with EIO, events that were not flushed are lost, and the log
// ends without a seal.
//
// # Errors
//
// Every call fails with an [*Error]. It has the error number that the standard asks for, so
// errors.Is(err, syscall.EINVAL) is the standard's EINVAL, and the cause. A call on a closed handle
// also matches os.ErrClosed. Two errors come bare: [io.EOF] at the end of a log, and
// [ErrUnavailable], the "unavailable" flag of posix_trace_trygetnext_event.
//
// # POSIX names and Go names
//
// Every function of the standard and its counterpart:
//
//	POSIX name                               Go name
//	posix_trace_attr_destroy                 none: an Attr is an ordinary value and needs no end
//	posix_trace_attr_getclockres             StreamAttr.ClockResolution
//	posix_trace_attr_getcreatetime           StreamAttr.CreateTime
//	posix_trace_attr_getgenversion           StreamAttr.GenerationVersion
//	posix_trace_attr_getinherited            StreamAttr.Inheritance
//	posix_trace_attr_getlogfullpolicy        StreamAttr.LogFullPolicy
//	posix_trace_attr_getlogsize              StreamAttr.LogSize
//	posix_trace_attr_getmaxdatasize          StreamAttr.MaxDataSize
//	posix_trace_attr_getmaxsystemeventsize   Attr.MaxSystemEventSize, StreamAttr.MaxSystemEventSize
//	posix_trace_attr_getmaxusereventsize     Attr.MaxUserEventSize, StreamAttr.MaxUserEventSize
//	posix_trace_attr_getname                 StreamAttr.Name
//	posix_trace_attr_getstreamfullpolicy     StreamAttr.StreamFullPolicy
//	posix_trace_attr_getstreamsize           StreamAttr.StreamSize
//	posix_trace_attr_init                    none: the zero Attr has the defaults
//	posix_trace_attr_setinherited            Attr.Inheritance
//	posix_trace_attr_setlogfullpolicy        Attr.LogFullPolicy
//	posix_trace_attr_setlogsize              Attr.LogSize
//	posix_trace_attr_setmaxdatasize          Attr.MaxDataSize
//	posix_trace_attr_setname                 Attr.Name
//	posix_trace_attr_setstreamfullpolicy     Attr.StreamFullPolicy
//	posix_trace_attr_setstreamsize           Attr.StreamSize
//	posix_trace_clear                        Stream.Clear
//	posix_trace_close                        Log.Close
//	posix_trace_create                       Create
//	posix_trace_create_withlog               CreateWithLog
//	posix_trace_event                        Event
//	posix_trace_eventid_equal                none: ids are compared with ==
//	posix_trace_eventid_get_name             Stream.EventName, Log.EventName
//	posix_trace_eventid_open                 OpenEventID
//	posix_trace_eventset_add                 EventSet.Add
//	posix_trace_eventset_del                 EventSet.Del
//	posix_trace_eventset_empty               none: the zero EventSet is empty
//	posix_trace_eventset_fill                EventSet.Fill
//	posix_trace_eventset_ismember            EventSet.Has
//	posix_trace_eventtypelist_getnext_id     Stream.NextEventType, Log.NextEventType
//	posix_trace_eventtypelist_rewind         Stream.RewindEventTypes, Log.RewindEventTypes
//	posix_trace_flush                        Stream.Flush
//	posix_trace_get_attr                     Stream.Attr, Log.Attr
//	posix_trace_get_filter                   Stream.Filter
//	posix_trace_get_status                   Stream.Status, Log.Status
//	posix_trace_getnext_event                Stream.Next, Log.Next
//	posix_trace_open                         Open
//	posix_trace_rewind                       Log.Rewind
//	posix_trace_set_filter                   Stream.SetFilter
//	posix_trace_shutdown                     Stream.Shutdown
//	posix_trace_start                        Stream.Start
//	posix_trace_stop                         Stream.Stop
//	posix_trace_timedgetnext_event           Stream.TimedNext
//	posix_trace_trid_eventid_open            Stream.EventID
//	posix_trace_trygetnext_event             Stream.TryNext
//
// In C a call that does not suit the kind of stream fails with EINVAL. In Go most such calls do not
// compile: active streams ([Stream]) and opened logs ([Log]) have different types.
//
// # Extensions
//
// Declarations marked "Extension" are not in the standard. The commands ptrace-run, ptrace-create,
// ptrace-ctl, ptrace-filter, ptrace-event and ptrace-dump use this package and nothing beneath it,
// so a program can do what they do: find streams ([List], [Attach]), read without consuming, and
// logs in any state ([Reader]), filter names that do not exist yet ([Stream.FilterOps]), and record
// on behalf of other processes ([Process], [Recorder]).
//
// A program measures its work by spans ([SpanType]): two events NAME.begin and NAME.end with one
// key, on any goroutines.
//
//	var request, _ = posixtrace.OpenSpanType("request")
//
//	ctx, span := request.Start(ctx, []byte(r.URL.Path))
//	defer span.End(nil)
//
// Package posixspan starts spans by name. Package posixslog records the lines of log/slog beside the trace
// points. Package posixtest is for tests that wait for events and check them.
package posixtrace
