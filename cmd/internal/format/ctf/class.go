package ctf

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// kind tells the event classes of one type apart. A string of CTF ends at a NUL and is UTF-8, so data
// that is not text has another class with the same name, in which it is an array of bytes. So has a
// system event whose data is malformed.
type kind uint8

const (
	text         kind = iota // data is a string
	raw                      // data is bytes
	decoded                  // the members of a system event
	decodedBytes             // the same, with bytes where decoded has strings

	withStack  kind = 4  // besides: the stack of a system call
	inSpan     kind = 8  // besides: the keys of a span
	firstEmpty kind = 16 // besides: the first string is empty, and no other
	kinds           = 32
)

// class is an event class.
type class struct {
	name   string
	span   bool
	fields []string
}

// emptyClass is a class of events that have the same strings empty.
type emptyClass struct {
	id    posixtrace.EventID
	kind  kind
	empty uint64 // a bit for each string
}

// recentClass is the class of a recent event, and its number plus 1. Most system calls of a type have the
// same strings empty, and a lookup in the map takes longer than all else that finds their class.
type recentClass struct {
	key    emptyClass
	number uint16
}

const recentClasses = 64

// maxEmptyClasses bounds these classes. With the others, of at most 4096 types, they have numbers of
// 16 bits.
const maxEmptyClasses = 16 << 10

// class returns the number of the class of an event type. A type has a class when it has an event.
//
// babeltrace2 2.0.4 shows an empty string as the string that the field had in an event before.
// Events that have other strings empty therefore belong to other classes: there, the field never has
// another string.
func (t *Trace) class(id posixtrace.EventID, k kind, fields []string) uint16 {
	switch {
	case t.empty == 0:
	case t.empty == 1:
		k |= firstEmpty
	default:
		key := emptyClass{id, k, t.empty}
		recent := &t.recent[id%recentClasses]
		if recent.number != 0 && recent.key == key {
			return recent.number - 1
		}
		n := t.empties[key]
		if n == 0 && len(t.empties) < maxEmptyClasses {
			n = t.addClass(id, k, fields)
			t.empties[key] = n
		}
		if n != 0 {
			recent.key, recent.number = key, n
			return n - 1
		}
	}
	i := int(id)*kinds + int(k)
	if i >= len(t.numbers) {
		t.numbers = append(t.numbers, make([]uint16, i+1-len(t.numbers)+256)...)
	}
	if t.numbers[i] == 0 {
		t.numbers[i] = t.addClass(id, k, fields)
	}
	return t.numbers[i] - 1
}

// addClass adds a class and returns its number, plus 1.
func (t *Trace) addClass(id posixtrace.EventID, k kind, fields []string) uint16 {
	t.classes = append(t.classes, &class{catalog.TypeOrNumber(t.Name(id), id), k&inSpan != 0, fields})
	return uint16(len(t.classes))
}

var (
	textFields      = []string{"string data"}
	rawFields       = byteArray("data")
	lineEnds        = []string{"bool_t newline", "bool_t continues", "bool_t return"}
	lineFields      = join(textFields, lineEnds)
	lineBytesFields = join(rawFields, lineEnds)
	startFields     = array("filter", "string")
	filterFields    = join(array("old_filter", "string"), array("new_filter", "string"))
	stopFields      = []string{"i32_t auto"}
	errorFields     = []string{"errno_t errno"}
	execFields      = join([]string{"string path"}, array("argv", "string"), execLists("string"))
	execBytesFields = join(byteArray("path"), array("argv", byteString), execLists(byteString))
	forkFields      = []string{"i32_t child", "fork_t kind"}
	signalFields    = []string{"signal_t signal", "i32_t code", "i32_t sender", "i32_t sender_uid"}
	timeoutFields   = []string{"i64_t limit_ns", "signal_t signal"}
	hangTexts       = []string{"program", "state", "call", "wait", "for", "note"}
	hangPlace       = []string{"hang_kind_t kind", "hang_cause_t cause", "i64_t since_ns", "bool_t exact", "bool_t stuck", "bool_t cycle",
		"i32_t for_pid", "i32_t for_tid", "signal_t signal", "i32_t report"}
	hangFields      = join(each(hangTexts, func(name string) []string { return []string{"string " + name} }), array("argv", "string"), array("callers", "string"), hangPlace)
	hangBytesFields = join(each(hangTexts, byteArray), array("argv", byteString), array("callers", byteString), hangPlace)
	resFields       = []string{"i32_t sample", "i32_t part", "bool_t full", "bool_t more", "i64_t interval_ns", "i32_t processes", "i32_t threads",
		"i32_t descriptors", "i64_t rss", "i64_t cpu_ns", "i64_t read_bytes", "i64_t written_bytes", "bool_t group", "i64_t group_memory", "i64_t group_peak",
		"i64_t group_limit", "i64_t oom_kills", "i64_t throttled_ns", "i64_t cpu_stall_ns", "i64_t memory_stall_ns", "i64_t io_stall_ns", "i32_t oom_process",
		"i32_t limit_process", "bool_t directory_full", "bool_t temporary_full"}
	fileNumbers = join([]string{"file_kind_t kind"}, array("modes", "string"), []string{"errno_t error", "u64_t device", "u64_t inode", "i64_t bytes", "i64_t count",
		"u32_t perm", "i32_t uid", "i32_t gid"})
	filePaths       = []string{"file", "to", "canonical"}
	fileFields      = join(fileNumbers, each(filePaths, func(name string) []string { return []string{"string " + name} }))
	fileBytesFields = join(fileNumbers, each(filePaths, byteArray))
	exitFields      = []string{"i32_t status", "signal_t signal", "bool_t core", "i64_t user_ns", "i64_t system_ns", "i64_t maxrss",
		"i64_t minor_faults", "i64_t major_faults", "i64_t blocks_in", "i64_t blocks_out", "i64_t voluntary_switches", "i64_t involuntary_switches",
		"i64_t run_delay_ns", "i64_t processors", "i64_t others_ns", "i64_t idle_ns", "i64_t pressure_ns"}
	contextFields      = []string{"string trace_id", "string span_id", "string parent_span_id", "u8_t trace_flags", "string tracestate"}
	contextBytesFields = join(contextFields[:4], byteArray("tracestate"))
	mapPlace           = []string{"address_t map_start", "address_t map_end", "address_t map_offset",
		"string build_id", "bool_t map_removed", "bool_t map_first", "i32_t map_parent"}
	mapFields      = join([]string{"string map_file"}, mapPlace)
	mapBytesFields = join(byteArray("map_file"), mapPlace)

	result     = []string{"bool_t returned", "i64_t result", "errno_t errno", "errno_t restarted", "i64_t duration_ns"}
	stack      = join(array("stack", "struct { address_t address; bool_t interrupted; bool_t guessed; }"), []string{"bool_t stack_cut"})
	callFields = [kinds][]string{
		decoded:                  join(array("args", "string"), result, []string{"string opened"}),
		decodedBytes:             join(array("args", byteString), result, byteArray("opened")),
		decoded | withStack:      join(array("args", "string"), result, []string{"string opened"}, stack),
		decodedBytes | withStack: join(array("args", byteString), result, byteArray("opened"), stack),
	}
)

// execLists returns the fields of proc.exec behind the arguments. A text that may be unknown is an array of one,
// or of none.
func execLists(element string) []string {
	return join(each([]string{"dir", "stdin", "stdout", "stderr", "environment", "unset"}, func(name string) []string { return array(name, element) }),
		[]string{"bool_t incomplete"})
}

// byteString is the type of bytes in an array.
const byteString = "struct { u32_t length; u8_t bytes[length]; }"

func byteArray(name string) []string { return array(name, "u8_t") }

// array returns the fields of an array of any length.
func array(name, of string) []string {
	return []string{"u32_t " + name + "_length", of + " " + name + "[" + name + "_length]"}
}

func each(names []string, fields func(string) []string) (all []string) {
	for _, name := range names {
		all = append(all, fields(name)...)
	}
	return all
}

func join(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
