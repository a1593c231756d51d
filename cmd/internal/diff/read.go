package diff

import (
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/openlog"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// log is a log that was opened.
type log struct {
	*openlog.Log
	run   *compare.Run
	fault error // why it is not whole
}

// openLogs opens the logs of both sides. It reports all that cannot be opened.
func openLogs(env *cli.Env, names [2][]string) (logs [2][]*log, err error) {
	ok := true
	fault := func(err error) {
		env.Warn(err)
		ok = false
	}
	opened := 0
	for side := range names {
		for _, operand := range names[side] {
			list, err := logsOf(operand)
			if err != nil {
				fault(err)
				continue
			}
			for _, name := range list {
				if opened++; opened > maxLogs {
					closeLogs(logs)
					return logs, cli.Failf("more than %d logs", maxLogs)
				}
				l, err := openLog(env, name)
				if err != nil {
					fault(err)
					continue
				}
				logs[side] = append(logs[side], l)
			}
		}
	}
	if !ok {
		closeLogs(logs)
		return logs, cli.Exit(troubleStatus)
	}
	return logs, nil
}

// logsOf returns the logs that an operand names: one, or those of a directory.
func logsOf(operand string) ([]string, error) {
	if st, err := os.Stat(operand); operand == "-" || err != nil || !st.IsDir() {
		return []string{operand}, nil
	}
	return openlog.Directory(operand)
}

func openLog(env *cli.Env, name string) (*log, error) {
	in, err := openlog.Open(env, name)
	if err != nil {
		if len(name) > 1 && strings.HasPrefix(name, "-") {
			err = cli.WithHint(err, "options stand before --")
		}
		return nil, err
	}
	return &log{Log: in}, nil
}

func closeLogs(logs [2][]*log) {
	for _, side := range logs {
		for _, l := range side {
			l.Reader.Close()
			l.File.Close()
		}
	}
}

// readAll reads the logs, several at a time, and reports those that are not whole.
func readAll(env *cli.Env, logs [2][]*log, opt *options) {
	collectLate()
	turns := make(chan struct{}, min(runtime.GOMAXPROCS(0), mostAtATime))
	done := make(chan struct{})
	n := 0
	for _, side := range logs {
		for _, l := range side {
			n++
			go func() {
				turns <- struct{}{}
				l.read(opt)
				<-turns
				done <- struct{}{}
			}()
		}
	}
	for range n {
		<-done
	}
	for _, side := range logs {
		for _, l := range side {
			env.Warn(l.fault)
		}
	}
}

const (
	// gcPercent lets the garbage collector run less often than by default: most of what is read stays
	// until the end.
	gcPercent = 400
	// lateHeap is the size of the heap at which the garbage collector runs first. It reads the whole
	// memory of a list that grows. A page that was read before it is written costs a second fault, and
	// an interrupt of the other processors.
	lateHeap = 64 << 20
)

// collectLate has the garbage collector run first when the heap has a size.
func collectLate() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(lateHeap)
	runtime.AddCleanup(new(*log), func(struct{}) {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, struct{}{})
}

// mostAtATime bounds the logs that are read at a time: each needs memory.
const mostAtATime = 4

// read reads a log as far as it is sound.
func (l *log) read(opt *options) {
	b := compare.NewBuilder(&opt.Options, l.Reader.EventName)
	if opt.sel.all() && !opt.Golden {
		l.count(b)
	}
	var batch posixtrace.Batch
	for {
		err := l.Reader.NextBatch(&batch)
		if err == io.EOF {
			break
		}
		if err != nil {
			l.fault = cli.Failure(l.Name, err)
			break
		}
		if recs := opt.sel.selected(batch.Records, l.Reader.EventName); len(recs) > 0 {
			b.Add(recs)
		}
	}
	if l.fault == nil {
		l.fault = l.Soundness()
	}
	st := l.Reader.Status()
	l.run = b.Finish(l.Name, st.Lost+st.LogLost)
	l.run.Unsound = l.unsound()
}

// unsound returns what is wrong with a log, "" if it is whole.
func (l *log) unsound() string {
	if l.fault == nil {
		return ""
	}
	if state, _ := l.Reader.State(); state != posixtrace.LogFinished && state != posixtrace.LogLive {
		return state.String()
	}
	return "unreadable from some place on"
}

// sampled is the number of events after which count looks at their types.
const sampled = 1 << 11

// count counts the events of types of which only the number matters, if there are many of them, and
// leaves the others to be read. Counting is much faster than reading.
func (l *log) count(b *compare.Builder) {
	if state, _ := l.Reader.State(); state != posixtrace.LogFinished || l.Live != nil {
		return
	}
	var c posixtrace.Counts
	var err error
	for err == nil {
		before := c.Events
		if err = l.Reader.Count(&c); before < sampled && c.Events >= sampled && !l.mostlyPlain(&c) {
			break
		}
	}
	plain := err == io.EOF && l.mostlyPlain(&c)
	if err := l.Reader.Rewind(); err != nil || !plain {
		return
	}
	var needed posixtrace.EventSet
	read := uint64(0)
	for n := range c.Types() {
		if selection.IsUnasked(n.ID) {
			continue
		}
		if compare.Plain(n.ID, l.Reader.EventName(n.ID)) {
			b.AddCount(&n)
		} else {
			needed.Add(n.ID)
			read += n.Events
		}
	}
	b.Expect(read)
	l.Reader.Select(posixtrace.Selection{Types: &needed})
}

// mostlyPlain reports whether most events need not be read.
func (l *log) mostlyPlain(c *posixtrace.Counts) bool {
	plain := uint64(0)
	for n := range c.Types() {
		if compare.Plain(n.ID, l.Reader.EventName(n.ID)) {
			plain += n.Events
		}
	}
	return plain > c.Events/2
}
