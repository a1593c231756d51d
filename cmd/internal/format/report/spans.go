package report

import (
	"cmp"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// span is an interval: a command, a span, a system call, or several of one name that are close to
// each other.
type span struct {
	id, parent uint64
	start, end int64
	pid, tid   int32
	source     int32
	name       int32 // a number of spans.names
	data       int32 // a number of spans.data
	how        int32 // a number of spans.hows
	count      uint32
	status     int32
	kind       analysis.Kind
	flags      uint8

	fate  analysis.Fate // of a command that failed, or of several
	lane  int32
	depth int32
}

// Flags of a span. The page has all but the last one.
const (
	failed     = 1
	unfinished = 2
	overlaps   = 4
	onChain    = 8
	merged     = 16
	killed     = 32
	tolerated  = 64
	forked     = 128
)

// spans are the intervals of a run. When there are too many, short ones of one thread and name that
// are close to each other become one.
type spans struct {
	most  int // mostSpans
	list  []span
	names *texts
	data  *texts
	hows  *texts // directories and descriptors of commands
	near  int64  // intervals shorter than this become one with those that start about when they do

	forgetful int64 // intervals shorter than this have lost their data
	dropped   uint64
	cut       uint64 // bytes of data that were left out
	shortened uint64 // data of which that is a part
	forgotten uint64 // all other data
}

const (
	mostSpans = 200_000
	// maxData bounds the data that is kept of an interval, maxCall that of a system call, and mostData
	// that of all.
	maxData  = 1 << 10
	maxCall  = 1 << 8
	mostData = 16 << 20
	// mostHows bounds the directories and descriptors.
	mostHows = 4 << 20
)

func (s *spans) init() {
	s.most, s.names, s.data = mostSpans, newTexts(), newTexts()
	s.hows = newTexts()
}

// add adds an interval.
func (s *spans) add(x *analysis.Interval) {
	n := span{id: x.ID, parent: x.Parent, start: x.Start, end: max(x.End, x.Start), pid: int32(x.PID), tid: int32(x.TID),
		source: int32(x.Source), name: s.names.addString(cut(x.Name, maxName)), kind: x.Kind, count: 1}
	if x.Kind == analysis.CallKind {
		n.status = int32(x.Errno)
	} else {
		n.status = int32(x.Status)
	}
	if x.Failed {
		n.flags |= failed
		n.fate = x.Fate
	}
	if x.Signal != 0 {
		n.flags |= killed
		n.status = int32(x.Signal)
	}
	if x.State == analysis.Running || x.State == analysis.Lost {
		n.flags |= unfinished
	}
	if x.Overlaps {
		n.flags |= overlaps
	}
	if x.Forked {
		n.flags |= forked
	}
	if len(x.How) > 0 && s.hows.size < mostHows {
		n.how = s.hows.add(x.How)
	}
	data, most := x.Data, maxData
	if x.Kind == analysis.CallKind {
		data, most = x.Call[min(len(x.Call), callDuration):], maxCall
	}
	if len(x.Error) > 0 {
		data = slices.Concat(data, []byte(" error: "), x.Error)
	}
	if len(data) > 0 {
		text := cut(data, most)
		if len(data) > len(text) {
			s.cut += uint64(len(data) - len(text))
			s.shortened++
		}
		if d := since(n.end, n.start); d >= s.forgetful {
			n.data = s.data.add(text)
		} else {
			s.cut += uint64(len(text))
			s.forgotten++
		}
	}
	s.list = append(s.list, n)
	if len(s.list) >= 2*s.most {
		s.compact()
	}
	if s.data.size > mostData {
		s.forget()
	}
}

// callDuration is the length of the duration at the start of a system call's data. It is not kept, so
// that calls with the same arguments and result share their data.
const callDuration = 8

// callText returns the arguments and the result of a system call from its data without the duration.
func callText(data string) string {
	d, err := posixtrace.DecodeSyscall(append(make([]byte, callDuration, callDuration+maxCall), data...))
	if err != nil {
		return ""
	}
	return string(output.AppendCall(nil, &d, len(data) == maxCall))
}

// maxName bounds the name of a span.
const maxName = 128

// since returns the time between two moments, at most the greatest number.
func since(to, from int64) int64 {
	if to <= from {
		return 0
	}
	return int64(min(uint64(to)-uint64(from), 1<<63-1))
}

func (x *span) length() int64 { return since(x.end, x.start) }

// bucket is where intervals become one.
type bucket struct {
	source, pid, tid int32
	name             int32
	around           uint64 // of processes
	kind             analysis.Kind
	at               int64
}

func (s *spans) bucketOf(x *span) bucket {
	b := bucket{source: x.source, pid: x.pid, tid: x.tid, name: x.name, kind: x.kind, at: x.start / s.near}
	if x.kind == analysis.Process {
		b.pid, b.tid, b.around = 0, 0, x.parent
	}
	return b
}

// compact makes fewer of the intervals.
func (s *spans) compact() {
	first, last := s.list[0].start, s.list[0].end
	for i := range s.list {
		first, last = min(first, s.list[i].start), max(last, s.list[i].end)
	}
	all := since(last, first)
	for len(s.list) > s.most && s.near <= all/4 {
		s.near = max(4*s.near, all/int64(s.most), 1)
		s.unite()
	}
	if len(s.list) > s.most {
		slices.SortFunc(s.list, func(a, b span) int { return cmp.Compare(b.length(), a.length()) })
		for _, x := range s.list[s.most:] {
			s.dropped += uint64(x.count)
		}
		s.list = s.list[:s.most]
	}
	s.forget()
}

// unite makes one of the intervals that fall into one bucket.
func (s *spans) unite() {
	index := make(map[bucket]int32, len(s.list)/2)
	kept := s.list[:0]
	for _, x := range s.list {
		if x.length() >= s.near {
			kept = append(kept, x)
			continue
		}
		b := s.bucketOf(&x)
		if i, ok := index[b]; ok {
			kept[i].take(&x)
			continue
		}
		index[b] = int32(len(kept))
		kept = append(kept, x)
	}
	s.list = kept
}

func (s *span) take(x *span) {
	s.start, s.end = min(s.start, x.start), max(s.end, x.end)
	if s.parent != x.parent {
		s.parent = min(s.parent, x.parent)
	}
	s.id = min(s.id, x.id)
	s.count += min(x.count, ^uint32(0)-s.count)
	switch {
	case s.flags&failed == 0:
		s.fate = x.fate
	case x.flags&failed != 0:
		s.fate = s.fate.With(x.fate)
	}
	s.flags |= x.flags | merged
	if s.status != x.status {
		s.status = 0
		s.flags &^= killed
	}
	if s.data != x.data {
		s.data = 0
	}
	if s.how != x.how {
		s.how = 0
	}
}

// forget leaves out data: what is not used, and that of the shortest intervals if there is too much.
func (s *spans) forget() {
	old := s.data
	for {
		s.data = newTexts()
		for i := range s.list {
			x := &s.list[i]
			if x.data != 0 && x.length() >= s.forgetful {
				s.data.addString(old.list[x.data])
			}
		}
		if s.data.size <= mostData/2 {
			break
		}
		s.forgetful = s.median(old)
	}
	for i := range s.list {
		x := &s.list[i]
		switch {
		case x.data == 0:
		case x.length() < s.forgetful:
			s.cut += uint64(len(old.list[x.data]))
			s.forgotten++
			x.data = 0
		default:
			x.data = s.data.addString(old.list[x.data])
		}
	}
}

// median returns a length that half of the intervals with data do not reach.
func (s *spans) median(old *texts) int64 {
	var all []int64
	for i := range s.list {
		if x := &s.list[i]; x.data != 0 && x.length() >= s.forgetful {
			all = append(all, x.length())
		}
	}
	slices.Sort(all)
	return all[len(all)/2] + 1
}
