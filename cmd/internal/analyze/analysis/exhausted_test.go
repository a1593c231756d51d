package analysis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// exhaustedLog is a log of processes whose system calls fail.
type exhaustedLog struct {
	*Analysis
	*Source
	at    int64
	names []string
}

func newExhaustedLog() *exhaustedLog {
	l := &exhaustedLog{Analysis: New(Limits{Rows: 3})}
	l.Source = l.NewSource(func(id posixtrace.EventID) string {
		if n := int(id) - 3600; n >= 0 && n < len(l.names) {
			return callPrefix + l.names[n]
		}
		return ""
	})
	return l
}

func (l *exhaustedLog) add(id posixtrace.EventID, pid int, data interface{ Append([]byte) []byte }) {
	l.at += 1e6
	l.Source.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: l.at}, Data: data.Append(nil)}})
}

func (l *exhaustedLog) call(pid int, name string, errno int) {
	l.names = append(l.names, name)
	l.add(posixtrace.EventID(3600+len(l.names)-1), pid, &posixtrace.SyscallData{Result: -1, Errno: errno, Returned: true, Args: []posixtrace.SyscallArg{{Value: []byte("1")}}})
}

// step adds an event: "1:a" executes a, "1>2" starts process 2, "1!24:open" is a call that fails, "1#" a sample
// of a process at its limit, "1@" a time limit that passes, and "1=3" an exit.
func (l *exhaustedLog) step(event string) {
	i := strings.IndexAny(event, ":>!#@=")
	pid, _ := strconv.Atoi(event[:i])
	number, name, _ := strings.Cut(event[i+1:], ":")
	n, _ := strconv.Atoi(number)
	switch event[i] {
	case ':':
		l.add(posixtrace.EventProcExec, pid, &posixtrace.ExecData{Path: "/bin/" + number, Argv: []string{number}})
	case '>':
		l.add(posixtrace.EventProcFork, pid, &posixtrace.ForkData{Child: n})
	case '!':
		l.call(pid, name, n)
	case '#':
		l.add(posixtrace.EventResSample, 1, &posixtrace.ResSampleData{Number: 1, Full: true, LimitProcess: pid})
	case '@':
		l.add(posixtrace.EventProcTimeout, 1, &posixtrace.TimeoutData{Limit: time.Second, Signal: 15})
	case '=':
		l.add(posixtrace.EventProcExit, pid, &posixtrace.ExitData{Status: n})
	}
}

// What a process found used up explains a failure only if the process made the run fail, and the call means
// that by its error number.
func TestExhausted(t *testing.T) {
	for _, test := range []struct{ events, want string }{
		{"1:a 1!24:openat 1=1", "a 2 openat(1) x 1"},
		{"1:a 1!24:openat 1!24:socket 1!28:write 1=1", "a 0 write(1) x 1, a 2 openat(1) x 2"},
		{"1:a 1!24:openat 1=0", ""},
		{"1:a 1>2 2:b 2!24:pipe2 2=3 1=3", "b 2 pipe2(1) x 1"},
		{"1:a 1>2 2:b 2!24:pipe2 2=3 1=0", ""},
		{"1:a 1>2 2:b 2!24:pipe2 2=0 1=3", ""},
		{"1:a 1>2 2:b 2!24:pipe2 2=3 1>3 3:c 3=4 1=4", ""},
		{"1:a 1>2 2:b 2!122:pwrite64 2:c 2=3 1=3", "b 1 pwrite64(1) x 1"},
		{"1:a 1!23:openat 1=1", "a 3 openat(1) x 1"},
		{"1:a 1!28:inotify_add_watch 1!24:inotify_init1 1!28:epoll_ctl 1!2:openat 1!24:write 1!28:socket 1=1", ""},
		{"1:a 1# 1# 1=1", "a 2 x 0"},
		{"1:a 1>2 2:b 2# 2=0 1=1", ""},
		{"1:a 9# 1=1", " 2 x 0"}, // a process of which nothing else is recorded
		{"1:a 9!28:write 1=1", " 0 write(1) x 1"},
		{"1:a 1>2 2:b 9!28:write 9# 2=3 1=3", ""}, // nothing is recorded of it, although others are
		{"1:a 1>2 2:b 2!28:write 1@ 2=143 1=143", "b 0 write(1) x 1"},
		{"1:a 1>2 2:b 2!28:write 2=0 1>3 3:c 1@ 3=143 1=143", ""},
		{"1:a 1>2 2:b 2!28:write 2=3 1>2 2:c 2=0 1=0", ""}, // a pid that is used again
		{"1:a 1!28:write", ""},
	} {
		l := newExhaustedLog()
		for _, event := range strings.Fields(test.events) {
			l.step(event)
		}
		l.Finish()
		var got []string
		for _, e := range l.Exhausted(l.Runs()[0]) {
			text := fmt.Sprintf("%s %d ", e.Command.Label(), e.Resource)
			if e.Calls > 0 {
				text += e.First.Brief() + " "
			}
			got = append(got, text+fmt.Sprintf("x %d", e.Calls))
		}
		if got := strings.Join(got, ", "); got != test.want {
			t.Errorf("%s: %q, want %q", test.events, got, test.want)
		}
	}
}

// Of very many processes the latest are kept.
func TestExhaustedBound(t *testing.T) {
	l := newExhaustedLog()
	l.step("1:a")
	for pid := range 3 * maxExhausted {
		l.call(100+pid, "openat", emfile)
		l.call(100, "openat", emfile) // stays: it is always among the latest
	}
	l.step("1=1")
	l.Finish()
	list := l.Exhausted(l.Runs()[0])
	if len(list) != maxExhausted || list[0].Command.PID != 100 || list[0].Calls != 3*maxExhausted+1 || list[1].Command.PID != 99+3*maxExhausted {
		t.Errorf("%d processes: %+v", len(list), list[0])
	}
}
