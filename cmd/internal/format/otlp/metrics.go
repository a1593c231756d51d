package otlp

import (
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// metrics turns samples into metrics: gauges of what there is, sums of what has been used since the first sample.
type metrics struct {
	batch
	clock   clock
	samples [maxSamples]point
	n       int
	first   posixtrace.ResSampleData
	from    int64 // the time of the first
}

// point is a sample, without its processes.
type point struct {
	at int64
	d  posixtrace.ResSampleData
}

// maxSamples bounds the samples of a batch: the data points of one have some 3 KiB.
const maxSamples = 256

// metric is a metric, or one of its attributes' values.
type metric struct {
	name, unit string
	attribute  string // of a data point
	sum        bool
	group      bool // of the cgroup
	seconds    bool // the number is in nanoseconds
	limit      bool // 0 stands for none
	of         func(d *posixtrace.ResSampleData) int64
}

const (
	direction = `,"attributes":[{"key":"disk.io.direction","value":{"stringValue":"`
	resource  = `,"attributes":[{"key":"posixtrace.resource","value":{"stringValue":"`
)

// metricTable has the metrics. Those with one name follow each other.
var metricTable = []metric{
	{name: "posixtrace.process.count", unit: "{process}", of: func(d *posixtrace.ResSampleData) int64 { return int64(d.Processes) }},
	{name: "posixtrace.thread.count", unit: "{thread}", of: func(d *posixtrace.ResSampleData) int64 { return int64(d.Threads) }},
	{name: "posixtrace.file_descriptor.count", unit: "{file_descriptor}", of: func(d *posixtrace.ResSampleData) int64 { return int64(d.Descriptors) }},
	{name: "posixtrace.memory.usage", unit: "By", of: func(d *posixtrace.ResSampleData) int64 { return d.RSS }},
	{name: "posixtrace.cpu.time", unit: "s", sum: true, seconds: true, of: func(d *posixtrace.ResSampleData) int64 { return int64(d.CPU) }},
	{name: "posixtrace.disk.io", unit: "By", sum: true, attribute: direction + `read"}}]`, of: func(d *posixtrace.ResSampleData) int64 { return d.Read }},
	{name: "posixtrace.disk.io", unit: "By", sum: true, attribute: direction + `write"}}]`, of: func(d *posixtrace.ResSampleData) int64 { return d.Written }},
	{name: "posixtrace.cgroup.memory.usage", unit: "By", group: true, of: func(d *posixtrace.ResSampleData) int64 { return d.Memory }},
	{name: "posixtrace.cgroup.memory.limit", unit: "By", group: true, limit: true, of: func(d *posixtrace.ResSampleData) int64 { return d.Limit }},
	{name: "posixtrace.cgroup.oom_kill.count", unit: "{process}", group: true, sum: true, of: func(d *posixtrace.ResSampleData) int64 { return d.OOMKills }},
	{name: "posixtrace.cgroup.throttled_time", unit: "s", group: true, sum: true, seconds: true, of: func(d *posixtrace.ResSampleData) int64 { return int64(d.Throttled) }},
	{name: "posixtrace.cgroup.stall_time", unit: "s", group: true, sum: true, seconds: true, attribute: resource + `cpu"}}]`, of: func(d *posixtrace.ResSampleData) int64 { return int64(d.CPUStall) }},
	{name: "posixtrace.cgroup.stall_time", unit: "s", group: true, sum: true, seconds: true, attribute: resource + `memory"}}]`, of: func(d *posixtrace.ResSampleData) int64 { return int64(d.MemoryStall) }},
	{name: "posixtrace.cgroup.stall_time", unit: "s", group: true, sum: true, seconds: true, attribute: resource + `io"}}]`, of: func(d *posixtrace.ResSampleData) int64 { return int64(d.IOStall) }},
}

// add adds a sample. Malformed data, and the further parts of one, have no numbers of their own.
func (m *metrics) add(rec *posixtrace.Record) {
	d, err := posixtrace.DecodeResSample(rec.Data)
	if err != nil || d.Part > 0 {
		return
	}
	d.Changes, d.Ended = nil, nil
	if m.from == 0 {
		m.first, m.from = d, rec.UnixNano
	}
	m.samples[m.n] = point{rec.UnixNano, d}
	if m.n++; m.n == maxSamples {
		m.flush()
	}
}

// flush writes the samples as a batch.
func (m *metrics) flush() error {
	for i := 0; i < len(metricTable); {
		n := 1
		for i+n < len(metricTable) && metricTable[i+n].name == metricTable[i].name {
			n++
		}
		m.metric(metricTable[i : i+n])
		i += n
	}
	m.n = 0
	return m.batch.flush()
}

// metric appends a metric with the data points of all samples, if it has any.
func (m *metrics) metric(rows []metric) {
	var b []byte
	points := 0
	for k := range rows {
		row := &rows[k]
		for i := range m.samples[:m.n] {
			s := &m.samples[i]
			n := row.of(&s.d)
			if row.group && !s.d.Group || row.limit && n <= 0 {
				continue
			}
			switch {
			case points > 0:
				b = append(b, ',')
			default:
				b = m.head(m.next(), row)
			}
			points++
			b = m.point(b, row, s.at, n)
		}
	}
	if points == 0 {
		return
	}
	b = append(b, ']')
	if rows[0].sum {
		const cumulative = `,"aggregationTemporality":2,"isMonotonic":true`
		b = append(b, cumulative...)
	}
	m.end(append(b, `}}`...))
}

func (m *metrics) head(b []byte, row *metric) []byte {
	b = append(append(b, `{"name":"`...), row.name...)
	b = append(append(b, `","unit":"`...), row.unit...)
	kind := `","gauge":{"dataPoints":[`
	if row.sum {
		kind = `","sum":{"dataPoints":[`
	}
	return append(b, kind...)
}

// point appends a data point. A sum is what was used since the first sample.
func (m *metrics) point(b []byte, row *metric, at, n int64) []byte {
	b = append(b, '{')
	if row.sum {
		b = m.clock.appendTime(append(b, `"startTimeUnixNano":"`...), m.from)
		b = append(b, `",`...)
		n = max(n-row.of(&m.first), 0)
	}
	b = m.clock.appendTime(append(b, `"timeUnixNano":"`...), at)
	if row.seconds {
		b = strconv.AppendFloat(append(b, `","asDouble":`...), time.Duration(n).Seconds(), 'f', -1, 64)
	} else {
		b = append(strconv.AppendInt(append(b, `","asInt":"`...), n, 10), '"')
	}
	return append(append(b, row.attribute...), '}')
}
