package output

import (
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// counters writes a sample as counters, which viewers draw over time, and reports whether it is one. The
// parts of a sample have the same sums: the first stands for all.
func (c *Chrome) counters(src *Source, rec *posixtrace.Record) bool {
	e := src.data.Decode(rec)
	if e == nil {
		return false
	}
	number := func(i int) int64 { return src.data.Number(&e.Members[i]) }
	if number(sysevent.SamplePart) > 0 {
		return true
	}
	l := lane{rec.PID, rec.TID}
	c.lane(l)
	c.counter("memory", rec.UnixNano, l, "processes", number(sysevent.SampleRSS))
	if src.data.Known&(1<<sysevent.SampleMemory) != 0 {
		c.counter("memory of the cgroup", rec.UnixNano, l, "cgroup", number(sysevent.SampleMemory))
	}
	c.counter("processes", rec.UnixNano, l, "processes", number(sysevent.SampleProcesses))
	// What was used since the sample before, in thousandths of a processor.
	cpu := number(sysevent.SampleCPU)
	if s := c.sampled; s.pid == rec.PID && rec.UnixNano > s.at && cpu >= s.cpu {
		c.counter("processors in use", rec.UnixNano, l, "thousandths", int64(1000*float64(cpu-s.cpu)/float64(rec.UnixNano-s.at)))
	}
	c.sampled = sampled{rec.PID, rec.UnixNano, cpu}
	return true
}

// sampled is what the next sample is compared with.
type sampled struct {
	pid     int
	at, cpu int64
}

func (c *Chrome) counter(name string, at int64, l lane, key string, value int64) {
	b := c.appendHead(c.text[:0], name, "system", 'C', at, l)
	b = append(append(append(b, `,"args":{"`...), key...), `":`...)
	c.enqueue(append(strconv.AppendInt(b, value, 10), '}', '}'), at, 0)
}
