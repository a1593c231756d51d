package sysevent

import (
	"math"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Of returns a predefined event. It has no members if its data has no format.
func Of(id posixtrace.EventID) *Event {
	if id >= posixtrace.EventUnnamed {
		id = 0
	}
	return &events[id]
}

// Some members by number.
const (
	ExitStatus, ExitSignal, ExitCore = 0, 1, 2 // of EventProcExit
	ForkChild, ForkType              = 0, 1    // of EventProcFork
	SignalSender, SignalUID          = 2, 3    // of EventProcSignal
	MapParent                        = 7       // of EventProcMap
	TimeoutLimit, TimeoutSignal      = 0, 1    // of EventProcTimeout
	HangProgram                      = 0       // of EventHangThread

	FileDevice, FileInode = 3, 4 // of EventFileAccess

	// Of EventResSample.
	SamplePart, SampleProcesses, SampleRSS, SampleCPU, SampleMemory = 1, 5, 8, 9, 12
)

// Ended are the members of EventProcExit that say how the process ended. The others say what it used.
const Ended Members = 1<<ExitStatus | 1<<ExitSignal | 1<<ExitCore

// Call is a system event type syscall.NAME.
var Call = Event{ByHand: true, Members: []Member{
	{Name: "args", Key: " (", Type: Texts},
	{Name: "returned", Type: Bool},
	{Name: "result", Key: " result=", Type: Count},
	{Name: "errno", Key: " errno=", Type: Errno},
	{Name: "restarted", Key: " restarted=", Type: Errno},
	{Name: "duration_ns", Key: " duration=", Type: Duration},
	{Name: "opened", Key: "<", Type: Text},
	{Name: "stack", Type: Frames},
	{Name: "stack_cut", Type: Bool},
}}

// output is EventOutputStdout and EventOutputStderr.
var output = Event{ByHand: true, Members: []Member{
	{Name: "data", Key: ` "`, Type: Text},
	{Name: "newline", Key: " newline=", Type: Bool},
	{Name: "continues", Key: " continues=", Type: Bool},
	{Name: "return", Key: " return=", Type: Bool},
}}

var events = [posixtrace.EventUnnamed]Event{
	posixtrace.EventError: {size: 4, Members: []Member{
		{Name: "errno", Key: " errno=", Type: Errno, at: 0},
	}},
	posixtrace.EventStart: {size: 1, Members: []Member{
		{Name: "filter", Key: " filter=", Type: Types},
	}},
	posixtrace.EventStop: {size: 4, Members: []Member{
		{Name: "auto", Key: " auto=", Type: Int, at: 0},
	}},
	posixtrace.EventFilter: {size: 2, Members: []Member{
		{Name: "old_filter", Key: " old=", Type: Types},
		{Name: "new_filter", Key: " new=", Type: Types},
	}},
	posixtrace.EventProcFork: {size: 8, Members: []Member{
		ForkChild: {Name: "child", Key: " child=", Type: Process, at: 0},
		ForkType:  {Name: "kind", Key: " kind=", Type: ForkKind, at: 4},
	}},
	posixtrace.EventProcExec: {ByHand: true, Members: []Member{
		{Name: "path", Key: ` "`, Type: Text},
		{Name: "argv", Key: ` "`, Type: Texts},
		{Name: "dir", Type: Text},
		{Name: "stdin", Type: Text},
		{Name: "stdout", Type: Text},
		{Name: "stderr", Type: Text},
		{Name: "environment", Type: Texts},
		{Name: "unset", Type: Texts},
		{Name: "incomplete", Type: Bool},
	}},
	posixtrace.EventProcExit: {size: exitLeast, Members: []Member{
		ExitStatus: {Name: "status", Key: " status=", Type: Int, at: 0},
		ExitSignal: {Name: "signal", Key: " signal=", Type: Signal, at: 4},
		ExitCore:   {Name: "core", Key: " core=", Type: Bool, at: 8, bits: math.MaxUint32},
		{Name: "user_ns", Key: " user=", Type: Duration, at: 16},
		{Name: "system_ns", Key: " system=", Type: Duration, at: 24},
		{Name: "maxrss", Key: " maxrss=", Type: Size, at: 32},
		{Name: "minor_faults", Type: Count, at: 40},
		{Name: "major_faults", Type: Count, at: 48},
		{Name: "blocks_in", Type: Count, at: 56},
		{Name: "blocks_out", Type: Count, at: 64},
		{Name: "voluntary_switches", Type: Count, at: 72},
		{Name: "involuntary_switches", Type: Count, at: 80},
		{Name: "run_delay_ns", Type: Duration, Known: IfScheduled, at: exitLeast},
		{Name: "processors", Type: Count, Known: IfScheduled, at: exitProcessors, most: math.MaxInt32},
		{Name: "others_ns", Type: Duration, Known: IfShared, at: exitOthers},
		{Name: "idle_ns", Type: Duration, Known: IfShared, at: exitOthers + 8},
		{Name: "pressure_ns", Type: Duration, Known: IfShared, at: exitOthers + 16},
	}},
	posixtrace.EventProcSignal: {size: 16, Members: []Member{
		{Name: "signal", Key: " signal=", Type: Signal, at: 0},
		{Name: "code", Type: Int, at: 4},
		SignalSender: {Name: "sender", Key: " sender=", Type: Process, at: 8},
		SignalUID:    {Name: "sender_uid", Type: Int, at: 12},
	}},
	posixtrace.EventOutputStdout: output,
	posixtrace.EventOutputStderr: output,
	posixtrace.EventProcMap: {size: 32, Members: []Member{
		{Name: "map_file", Key: " ", Type: Text, Known: IfFile},
		{Name: "map_start", Key: " start=", Type: Address, Known: IfFile, at: 0},
		{Name: "map_end", Key: " end=", Type: Address, Known: IfFile, at: 8},
		{Name: "map_offset", Key: " offset=", Type: Address, Known: IfFile, at: 16},
		{Name: "build_id", Key: " build_id=", Type: Hex, Known: IfFile, Shown: IfBuildID},
		{Name: "map_removed", Key: " removed=", Type: Bool, Known: IfFile, at: mapFlags, bits: 1 << 0},
		{Name: "map_first", Type: Bool, Known: Never, at: mapFlags, bits: 1 << 1},
		MapParent: {Name: "map_parent", Key: " parent=", Type: Process, Known: IfInherited, at: 24},
	}},
	posixtrace.EventProcContext: {size: 33, Members: []Member{
		{Name: "trace_id", Key: " trace=", Type: Hex, at: 0, size: 16},
		{Name: "span_id", Key: " span=", Type: Hex, at: 16, size: 8},
		{Name: "parent_span_id", Key: " parent=", Type: Hex, at: 24, size: 8},
		{Name: "trace_flags", Key: " flags=", Type: Byte, at: 32},
		{Name: "tracestate", Key: " state=", Type: Text, Shown: IfTraceState},
	}},
	posixtrace.EventProcTimeout: {size: 12, Members: []Member{
		TimeoutLimit:  {Name: "limit_ns", Key: " limit=", Type: Duration, at: 0},
		TimeoutSignal: {Name: "signal", Key: " signal=", Type: Signal, at: 8},
	}},
	posixtrace.EventHangThread: {size: 28, Members: []Member{
		HangProgram: {Name: "program", Key: " ", Type: Text, at: 0},
		{Name: "argv", Key: " argv=", Type: Texts, at: hangLists},
		{Name: "state", Key: " state=", Type: Word, at: 26, word: stateWord},
		{Name: "kind", Key: " kind=", Type: Word, at: 25, word: func(n byte) string { return posixtrace.HangKind(n).String() }},
		{Name: "call", Key: " call=", Type: Text, at: 1},
		{Name: "wait", Key: " wait=", Type: Text, at: 2},
		{Name: "since_ns", Key: " since=", Type: Duration, Known: IfTimed, at: 0},
		{Name: "exact", Key: " exact=", Type: Bool, at: 24, bits: 1 << 24},
		{Name: "for", Key: " for=", Type: Text, at: 3},
		{Name: "for_pid", Key: " for_pid=", Type: Process, at: 8},
		{Name: "for_tid", Key: " for_tid=", Type: Process, at: 12},
		{Name: "stuck", Key: " stuck=", Type: Bool, at: 24, bits: 1 << 25},
		{Name: "cycle", Key: " cycle=", Type: Bool, at: 24, bits: 1 << 26},
		{Name: "callers", Key: " callers=", Type: Texts, at: hangLists + 1},
		{Name: "note", Key: " note=", Type: Text, at: 4},
		{Name: "cause", Key: " cause=", Type: Word, at: 24, word: func(n byte) string { return posixtrace.HangCause(n).String() }},
		{Name: "signal", Key: " signal=", Type: Signal, at: 16},
		{Name: "report", Key: " report=", Type: Int, at: 20},
	}},
	posixtrace.EventResSample: {size: 136, Members: []Member{
		{Name: "sample", Key: " sample=", Type: Int, at: 0},
		SamplePart: {Name: "part", Type: Int, at: 8},
		{Name: "full", Type: Bool, at: 4, bits: 1 << 0},
		{Name: "more", Key: " more=", Type: Bool, at: 4, bits: 1 << 1},
		{Name: "interval_ns", Type: Duration, at: 24},
		SampleProcesses: {Name: "processes", Key: " processes=", Type: Int, at: 12},
		{Name: "threads", Key: " threads=", Type: Int, at: 16},
		{Name: "descriptors", Key: " descriptors=", Type: Int, at: 20},
		SampleRSS: {Name: "rss", Key: " rss=", Type: Size, at: 32},
		SampleCPU: {Name: "cpu_ns", Key: " cpu=", Type: Duration, at: 40},
		{Name: "read_bytes", Key: " read=", Type: Size, at: 48},
		{Name: "written_bytes", Key: " written=", Type: Size, at: 56},
		SampleMemory: {Name: "group_memory", Key: " memory=", Type: Size, Known: IfGroup, at: 64},
		{Name: "group_peak", Key: " peak=", Type: Size, Known: IfGroup, at: 72},
		{Name: "group_limit", Key: " limit=", Type: Size, Known: IfGroup, at: 80},
		{Name: "oom_kills", Key: " oom_kills=", Type: Count, Known: IfGroup, at: 88},
		{Name: "throttled_ns", Key: " throttled=", Type: Duration, Known: IfGroup, at: 96},
		{Name: "cpu_stall_ns", Type: Duration, Known: IfGroup, at: 104},
		{Name: "memory_stall_ns", Type: Duration, Known: IfGroup, at: 112},
		{Name: "io_stall_ns", Type: Duration, Known: IfGroup, at: 120},
		{Name: "oom_process", Type: Process, at: 128},
		{Name: "limit_process", Type: Process, at: 132},
		{Name: "directory_full", Type: Bool, at: 4, bits: 1 << 3},
		{Name: "temporary_full", Type: Bool, at: 4, bits: 1 << 4},
	}},
	posixtrace.EventFileAccess: {size: 52, Members: []Member{
		{Name: "kind", Key: " kind=", Type: Word, at: 50, word: func(n byte) string { return posixtrace.FileKind(n).String() }},
		{Name: "modes", Key: " modes=", Type: Flags, at: 48, words: func(n uint16) []string { return posixtrace.FileMode(n).Words() }},
		{Name: "error", Key: " error=", Type: Errno, at: 32},
		FileDevice: {Name: "device", Type: Unsigned, at: 0},
		FileInode:  {Name: "inode", Key: " inode=", Type: Unsigned, at: 8},
		{Name: "bytes", Key: " bytes=", Type: Size, Known: IfWritten, at: 16},
		{Name: "count", Key: " count=", Type: Count, at: 24},
		{Name: "perm", Key: " perm=", Type: Octal, at: 36},
		{Name: "uid", Key: " uid=", Type: Int, Known: IfOwned, at: 40},
		{Name: "gid", Key: " gid=", Type: Int, Known: IfOwned, at: 44},
		{Name: "file", Key: " file=", Type: Text, at: 0},
		{Name: "to", Key: " to=", Type: Text, at: 1},
		{Name: "canonical", Key: " canonical=", Type: Text, at: 2},
	}},
}

// stateWord returns the state of a thread as ps(1) shows it.
func stateWord(n byte) string {
	if n == 0 {
		return ""
	}
	return string([]byte{n})
}

// Places in the data of EventProcExit, EventProcMap, EventHangThread and EventFileAccess.
const (
	exitLeast      = 4*3 + 4 + 8*9
	exitProcessors = exitLeast + 8
	exitOthers     = exitProcessors + 8
	exitSize       = exitOthers + 8*3

	mapFlags   = 28
	mapOwn     = 1 << 2 // a flag: there is more before the id of the build
	mapOwnSize = 16

	hangLists = 5 // behind so many texts
	hangTexts = 7 // with the lists
	hangMost  = 1<<15 - 1

	fileBytes = 16
	fileKind  = 50
	filePaths = 3
)

func init() {
	for id := range events {
		e := &events[id]
		for i := range e.Members {
			m := &e.Members[i]
			if m.most == 0 {
				m.most = math.MaxInt64
			}
			e.known[m.Known] |= 1 << i
			if m.Key == "" {
				continue
			}
			e.shown[max(m.Known, m.Shown)] |= 1 << i
		}
	}
}
