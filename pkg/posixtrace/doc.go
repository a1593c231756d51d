// Package posixtrace is POSIX Trace (IEEE Std 1003.1-2017, XSH 2.11, with the
// options Trace Log, Trace Inherit and Trace Event Filter) for Linux, in Go. It
// has nothing to do with ptrace(2), the system call that debuggers use.
//
// # The model
//
// The standard knows three roles. One process may play all of them, or three
// processes one each:
//
//   - A traced process has trace points, calls of [Event] that name an event type
//     and give a few bytes of data. It need not know whether it is traced: where
//     nobody traces it, a trace point costs about a nanosecond.
//   - A controller makes a [Stream] that traces a process ([Create],
//     [CreateWithLog]), starts and stops it, and says which event types it
//     rejects ([Stream.SetFilter]). Several streams can trace one process and
//     do not disturb each other.
//   - An analyzer reads what was recorded: from an active stream without log by
//     [Stream.Next] and its kin, each event once; from a log by [Open].
//
// A stream is created suspended and records between [Stream.Start] and
// [Stream.Stop]. It is a piece of shared memory of a given size. What happens
// when that is full is its [FullPolicy]: the oldest events give way ([PolicyLoop]), the
// stream stops until there is room ([PolicyUntilFull]), or it is flushed to its log
// ([PolicyFlush]). A log has such a policy, too. Whatever is lost is counted
// (Status.Lost), and where it is missing the reader finds the system events
// posix_trace_overflow and posix_trace_resume.
//
// Event types have names. A process maps a name to an [EventID] once
// ([OpenEventID]) and passes the id to its trace points. The processes of a
// family (a process and the children to which its tracing is passed on, see
// [InheritChildren]) agree on the ids.
//
// A program that PTRACE_STREAM leads to its stream is connected before main; any other, when it first
// asks for an id or, without one, at its first trace point. Whatever connects it needs openat(2), mmap(2),
// fcntl(2) and flock(2): a program that refuses itself these (seccomp(2)) does so afterwards. Of
// what is connected already, trace points need none of them; nor does [OpenEventID] of a name that the
// program has asked for before.
//
// # A whole program
//
// This one traces itself:
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
// What comes out:
//
//	posix_trace_start
//	page.fetch "number 0"
//	page.fetch "number 1"
//	page.fetch "number 2"
//	posix_trace_stop
//
// # Logs
//
// [CreateWithLog] makes a stream that is flushed to a file. As long as its owner
// lives, the owner flushes it: on [Stream.Flush], by itself under the policy
// PolicyFlush, and at the end. [Stream.Shutdown] completes the log; only then does
// [Open] accept it, as the standard asks. An active stream with log is not read
// by Next. Use [Stream.Reader], which reads log and stream together and consumes
// nothing, or [NewReader], which reads a log in any state.
//
// A stream belongs to the process that made it, and is shut down with it, even
// when it is killed: the next one who lists or creates streams, or opens the
// log, finds the dead owner and does what was left to do. [Stream.Handover]
// gives a stream away.
//
// When processes die nothing is lost that was recorded. When the machine dies the
// streams are gone, and of a log there is what the kernel had written to its device by
// then: usually all but the last half minute. What a [Stream.Sync] that succeeded has
// covered is there in any case, and after [Stream.SetSync] what any flush has. A
// log that was cut off this way is read up to where it is sound ([NewReader]).
//
// Should somebody cut the file of a stream short, no program dies of it, neither the traced
// one: the package puts a handler before the Go runtime's for SIGBUS, which minds
// its own mappings only, and the stream is then one that is shut down and empty. Calls
// on it fail with EIO, its events that were not flushed are lost, and its log ends without a
// seal. (This is so on amd64 and arm64.)
//
// # Errors
//
// Every call fails with an [*Error]. It holds the error number that the standard
// asks for, so errors.Is(err, syscall.EINVAL) is the standard's EINVAL, and what
// exactly was wrong. [io.EOF] ends a log and [ErrUnavailable] is the
// "unavailable" flag of posix_trace_trygetnext_event; both come bare.
//
// # POSIX names and Go names
//
// Every function of the standard, and where it is:
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
// A call that makes no sense for a kind of stream fails with EINVAL in C; in Go
// most of them cannot be written, since active streams ([Stream]) and opened logs
// ([Log]) are different types.
//
// # Extensions
//
// What is documented as "Extension" is not in the standard. The commands
// ptrace-run, ptrace-create, ptrace-ctl, ptrace-filter, ptrace-event and
// ptrace-dump are written with this package and nothing beneath it, so whatever
// they do, a program can do: find streams ([List], [Attach]), read without
// consuming, and logs of every state ([Reader]), filter names that do not yet
// exist ([Stream.FilterOps]), record for other processes ([Process],
// [Recorder]).
//
// A program measures what it does by spans ([SpanType]): two events NAME.begin and
// NAME.end with one key, on whatever goroutines they happen.
//
//	var request, _ = posixtrace.OpenSpanType("request")
//
//	ctx, span := request.Start(ctx, []byte(r.URL.Path))
//	defer span.End(nil)
package posixtrace
