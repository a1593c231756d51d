// Package attr describes the attributes of a stream. Attributes is the one description. The code of this
// package stores them in the header of a stream, in the superblock of a log and in the memory that the C
// library shares with its agent. `go generate` writes what C needs of them to libposixtrace/layout.h, and
// ptrace-dump shows them in the order here.
//
// Three places make a new attribute: a member at the end of Attributes, members of the same name in the public
// structs (attr.go of package posixtrace), and the prototypes of its functions in trace.h. Then run `go generate`,
// run the tests that record what is stable with -update, and describe it: a row in ptrace-log(5), one in
// posix_trace_attr_init(3), and a page for its functions. An attribute that the standard does not have has functions
// of the same form. TestEachAttributeGoesRound follows it through both languages.
package attr

import "time"

// Attributes are the attributes of a stream that exists.
//
// Tags say more of a member. c is the end of the names of its C functions, posix_trace_attr_getC and
// posix_trace_attr_setC; set is "no" if there is no second one. default is the value of the settings that
// nothing has set, and max the largest value of a number: settings with a larger one fail with EINVAL. of lists
// the values that a Policy can have. log is the offset in the superblock of a log, and the size there. A text is
// among the strings of the superblock, and room is that for the text and a zero byte in Block.
type Attributes struct {
	Name              string   `c:"name" room:"256"`
	CreateTime        Time     `c:"createtime" set:"no" log:"32,12"`
	GenerationVersion string   `c:"genversion" set:"no" room:"64" default:"posixtrace 1"`
	ClockResolution   Duration `c:"clockres" set:"no" log:"48,8" default:"1"`
	Inheritance       bool     `c:"inherited" log:"82,1"`
	StreamFullPolicy  Policy   `c:"streamfullpolicy" of:"Loop UntilFull Flush" log:"80,1" default:"1"`
	StreamSize        uint64   `c:"streamsize" log:"56,8" default:"65536"`
	MaxDataSize       uint64   `c:"maxdatasize" log:"64,8" default:"1024"`
	LogFullPolicy     Policy   `c:"logfullpolicy" of:"Loop UntilFull Append" log:"81,1" default:"1"`
	LogSize           uint64   `c:"logsize" log:"72,8" default:"1048576"`
}

// Time is a time since the Epoch.
type Time struct {
	Sec  int64
	Nsec int64
}

// TimeOf returns t as the attributes have it.
func TimeOf(t time.Time) Time { return Time{t.Unix(), int64(t.Nanosecond())} }

// Time returns t as Go has it.
func (t Time) Time() time.Time { return time.Unix(t.Sec, t.Nsec) }

// Duration is a number of nanoseconds.
type Duration uint64
