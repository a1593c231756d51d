package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// usage is the memory and the processor time of programs over time, by the samples of a log.
type usage struct {
	processes posixtrace.ResProcesses
	points    []point
	index     map[string]int // of the names
	names     []string       // the first stands for all others
	cpu       map[int]int64  // of each process
	total     int64
	at        int64 // of the sample whose parts come
	sum       int64 // its processor time
	every     int   // so many samples are one point
	merged    int   // in the last point
}

// point is a sample, or several.
type point struct {
	from, at int64 // the sample before, and this one
	memory   []int64
	cpu      []int64 // used between them
}

const (
	mostPoints   = 2000
	mostNames    = 64
	shownNames   = 5
	usageSamples = 2 // for an area of them
)

func (u *usage) add(rec *posixtrace.Record) {
	d, err := posixtrace.DecodeResSample(rec.Data)
	if err != nil {
		return
	}
	if d.Part == 0 {
		u.at, u.sum = rec.UnixNano, int64(d.CPU)
	}
	if !u.processes.Add(&d) {
		return
	}
	if u.index == nil {
		u.index, u.names, u.every = map[string]int{}, []string{""}, 1
	}
	p := point{from: u.at, at: u.at, memory: make([]int64, len(u.names)), cpu: make([]int64, len(u.names))}
	if n := len(u.points); n > 0 {
		p.from = u.points[n-1].at
	}
	left := max(u.sum-u.total, 0) // what no living process used is that of others
	u.total = max(u.sum, u.total)
	now := map[int]int64{}
	for pid, x := range u.processes.All() {
		i := u.of(x.Program)
		for len(p.memory) <= i {
			p.memory, p.cpu = append(p.memory, 0), append(p.cpu, 0)
		}
		p.memory[i] = max(p.memory[i]+x.RSS, p.memory[i])
		now[pid] = int64(x.CPU)
		used := min(max(now[pid]-u.cpu[pid], 0), left)
		p.cpu[i] += used
		left -= used
	}
	p.cpu[0] += left
	u.cpu = now
	u.append(p)
}

func (u *usage) of(name string) int {
	i, ok := u.index[name]
	if !ok && len(u.names) < mostNames {
		i = len(u.names)
		u.index[name] = i
		u.names = append(u.names, name)
	}
	return i
}

// append adds a point. If there are too many, two become one, and so do the next.
func (u *usage) append(p point) {
	if n := len(u.points); n > 0 && u.merged < u.every {
		u.points[n-1].merge(&p)
		u.merged++
		return
	}
	if len(u.points) >= mostPoints {
		for i := range len(u.points) / 2 {
			u.points[2*i].merge(&u.points[2*i+1])
			u.points[i] = u.points[2*i]
		}
		u.points = u.points[:len(u.points)/2]
		u.every *= 2
	}
	u.points = append(u.points, p)
	u.merged = 1
}

// merge adds the point that follows: the memory is that of the one with more.
func (p *point) merge(q *point) {
	if total(q.memory) > total(p.memory) {
		p.memory = q.memory
	}
	for len(p.cpu) < len(q.cpu) {
		p.cpu = append(p.cpu, 0)
	}
	for i, v := range q.cpu {
		p.cpu[i] += v
	}
	p.at = q.at
}

func total(list []int64) (sum int64) {
	for _, v := range list {
		sum = max(sum+v, sum)
	}
	return sum
}

func at(list []int64, i int) int64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// appendUsage appends the areas: of each time the memory, and the processors in use until the next time, in
// thousandths, of the programs that have most of one of them, and of all others.
func (r *Run) appendUsage(b []byte) []byte {
	u := &usage{}
	for _, s := range r.sampled {
		if len(s.points) > len(u.points) {
			u = s
		}
	}
	n := len(u.points)
	if n < usageSamples {
		return append(b, `"usage":{"n":0}`...)
	}
	most := make([]float64, len(u.names)) // parts of the largest
	var memory, cpu float64 = 1, 1
	for i := range u.points {
		memory, cpu = max(memory, float64(total(u.points[i].memory))), max(cpu, u.points[i].used(-1))
	}
	for i := range most {
		for j := range u.points {
			most[i] = max(most[i], float64(at(u.points[j].memory, i))/memory, u.points[j].used(i)/cpu)
		}
	}
	var shown []int
	for i := 1; i < len(u.names); i++ {
		shown = append(shown, i)
	}
	slices.SortStableFunc(shown, func(i, j int) int { return cmp.Compare(most[j], most[i]) })
	shown = shown[:min(len(shown), shownNames)]

	var time column
	columns := make([]column, 2*(len(shown)+1))
	before := uint64(0)
	for i := range u.points {
		p := &u.points[i]
		next := &point{}
		if i+1 < n {
			next = &u.points[i+1]
		}
		time.add(difference(&before, relative(p.at, r.from)))
		restMemory, restCPU := total(p.memory), next.used(-1)
		for k, name := range shown {
			m, c := at(p.memory, name), next.used(name)
			columns[2*k].add(uint64(m))
			columns[2*k+1].add(uint64(c*1000 + .5))
			restMemory, restCPU = max(restMemory-m, 0), max(restCPU-c, 0)
		}
		columns[2*len(shown)].add(uint64(restMemory))
		columns[2*len(shown)+1].add(uint64(restCPU*1000 + .5))
	}
	b = append(beginColumns(b, "usage", n, named{"time", &time}), `,"programs":[`...)
	for k := range len(shown) + 1 {
		if k > 0 {
			b = append(b, ',')
		}
		name := "others"
		if k < len(shown) {
			name = u.names[shown[k]]
		}
		b = append(quote(append(b, `{"name":`...), name), `,"others":`...)
		b = append(strconv.AppendBool(b, k == len(shown)), `,"memory":`...)
		b = append(columns[2*k].appendJSON(b), `,"processors":`...)
		b = append(columns[2*k+1].appendJSON(b), '}')
	}
	return append(b, ']', '}')
}

// used returns how many processors a program, or with -1 all, used on average.
func (p *point) used(i int) float64 {
	if p.at <= p.from {
		return 0
	}
	v := at(p.cpu, max(i, 0))
	if i < 0 {
		v = total(p.cpu)
	}
	return float64(v) / (float64(p.at) - float64(p.from))
}
