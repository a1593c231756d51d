package parquet

import (
	pq "github.com/parquet-go/parquet-go"
)

// row declares the columns, in their order. ptrace-export(1) describes them. A new column belongs to
// the end: readers find columns by name, people see them in this order.
type row struct {
	Time        int64             `parquet:"time,delta,timestamp(nanosecond:utc)"`
	TimeNS      int64             `parquet:"time_ns,delta"`
	LogID       string            `parquet:"log_id,dict"`
	Host        string            `parquet:"host,dict"`
	Trace       string            `parquet:"trace,dict"`
	Command     string            `parquet:"command,dict"`
	Log         string            `parquet:"log,dict"`
	PID         int64             `parquet:"pid,dict"`
	TID         int64             `parquet:"tid,dict"`
	Event       string            `parquet:"event,dict"`
	ID          int32             `parquet:"id,dict"`
	Class       string            `parquet:"class,dict"`
	Address     uint64            `parquet:"address,dict"`
	Truncation  string            `parquet:"truncation,dict"`
	Size        int64             `parquet:"size,delta"`
	Data        string            `parquet:"data,optional"`
	Binary      []byte            `parquet:"data_binary,optional"`
	Span        uint64            `parquet:"span,optional"`
	Parent      uint64            `parquet:"parent,optional"`
	Duration    int64             `parquet:"duration_ns,optional,delta"`
	Path        string            `parquet:"path,optional,dict"`
	Argv        []string          `parquet:"argv,optional,list" parquet-element:",dict"`
	Args        []string          `parquet:"args,optional,list" parquet-element:",dict"`
	Result      int64             `parquet:"result,optional"`
	Errno       int32             `parquet:"errno,optional,dict"`
	ErrnoName   string            `parquet:"errno_name,optional,dict"`
	Status      int32             `parquet:"status,optional,dict"`
	Signal      int32             `parquet:"signal,optional,dict"`
	Child       int32             `parquet:"child,optional"`
	UserNS      int64             `parquet:"user_ns,optional,delta"`
	SystemNS    int64             `parquet:"system_ns,optional,delta"`
	MaxRSS      int64             `parquet:"maxrss,optional,delta"`
	Members     map[string]string `parquet:"members,optional" parquet-key:",dict" parquet-value:",dict"`
	Processes   int32             `parquet:"processes,optional"`
	Threads     int32             `parquet:"threads,optional"`
	Descriptors int32             `parquet:"descriptors,optional"`
	RSS         int64             `parquet:"rss,optional,delta"`
	CPU         int64             `parquet:"cpu_ns,optional,delta"`
	Read        int64             `parquet:"read_bytes,optional,delta"`
	Written     int64             `parquet:"written_bytes,optional,delta"`
	GroupMemory int64             `parquet:"group_memory,optional,delta"`
	GroupPeak   int64             `parquet:"group_peak,optional,delta"`
	GroupLimit  int64             `parquet:"group_limit,optional,delta"`
	OOMKills    int64             `parquet:"oom_kills,optional,delta"`
	Throttled   int64             `parquet:"throttled_ns,optional,delta"`
	CPUStall    int64             `parquet:"cpu_stall_ns,optional,delta"`
	MemoryStall int64             `parquet:"memory_stall_ns,optional,delta"`
	IOStall     int64             `parquet:"io_stall_ns,optional,delta"`
}

// The leaves of row, in their order.
const (
	colTime = iota
	colTimeNS
	colLogID
	colHost
	colTrace
	colCommand
	colLog
	colPID
	colTID
	colEvent
	colID
	colClass
	colAddress
	colTruncation
	colSize
	colData
	colBinary
	colSpan
	colParent
	colDuration
	colPath
	colArgv
	colArgs
	colResult
	colErrno
	colErrnoName
	colStatus
	colSignal
	colChild
	colUserNS
	colSystemNS
	colMaxRSS
	colMemberKey
	colMemberValue
	colSampled // the first of those of samples, which no name of theirs needs
)

const (
	columns       = colSampled + 15
	firstOptional = colData
)

// Definition levels of the optional columns.
const (
	levelNull  = 0
	levelValue = 1 // of a column that is no list
	levelEmpty = 1 // of a list or map
	levelItem  = 2
)

var schema = pq.SchemaOf(row{})
