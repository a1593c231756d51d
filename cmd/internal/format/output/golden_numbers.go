package output

import "container/heap"

// numbers assigns numbers from 1 on, always the lowest free one; 0 stands for the zero key.
type numbers[K comparable] struct {
	of   map[K]*numbered
	free numberHeap
	last int

	latest    *numbered // of the latest key that was held; nil if it is gone
	latestKey K

	// nested: a number becomes free again only while a lower one is in use.
	nested   bool
	lent     numberHeap   // the numbers in use, and those in returned
	returned map[int]bool // numbers in lent that are no longer in use
}

type numbered struct {
	n    int // 0: none yet
	held int // events kept back that refer to the key
}

// hold counts one more event that refers to k, and returns what k has.
func (s *numbers[K]) hold(k K) *numbered {
	e := s.latest
	if e == nil || k != s.latestKey {
		if e = s.of[k]; e == nil {
			if s.of == nil {
				s.of = map[K]*numbered{}
			}
			e = &numbered{}
			s.of[k] = e
		}
		s.latest, s.latestKey = e, k
	}
	e.held++
	return e
}

// number returns the number of k, 0 if no event that is kept back refers to k.
func (s *numbers[K]) number(k K) int {
	if e := s.of[k]; e != nil {
		return s.numberOf(e, k)
	}
	return 0
}

// numberOf returns the number of k, whose entry is e.
func (s *numbers[K]) numberOf(e *numbered, k K) int {
	if e.n != 0 || k == *new(K) {
		return e.n
	}
	if len(s.free) > 0 {
		e.n = heap.Pop(&s.free).(int)
	} else {
		s.last++
		e.n = s.last
	}
	if s.returned[e.n] {
		delete(s.returned, e.n)
	} else if s.nested {
		heap.Push(&s.lent, e.n)
	}
	return e.n
}

// release takes a hold back.
func (s *numbers[K]) release(k K) *numbered {
	e := s.of[k]
	s.releaseOf(e, k)
	return e
}

// releaseOf releases k, whose entry is e.
func (s *numbers[K]) releaseOf(e *numbered, k K) {
	if e.held--; e.held > 0 {
		return
	}
	delete(s.of, k)
	if s.latest == e {
		s.latest = nil
	}
	if e.n != 0 && s.reusable(e.n) {
		heap.Push(&s.free, e.n)
	}
}

// reusable reports whether a number that goes out of use becomes free again.
func (s *numbers[K]) reusable(n int) bool {
	if !s.nested {
		return true
	}
	if s.returned == nil {
		s.returned = map[int]bool{}
	}
	s.returned[n] = true
	for len(s.lent) > 0 && s.returned[s.lent[0]] {
		delete(s.returned, heap.Pop(&s.lent).(int))
	}
	return len(s.lent) > 0 && s.lent[0] < n
}

// numberHeap is a heap, the lowest number first.
type numberHeap []int

func (f numberHeap) Len() int           { return len(f) }
func (f numberHeap) Less(i, j int) bool { return f[i] < f[j] }
func (f numberHeap) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *numberHeap) Push(n any)        { *f = append(*f, n.(int)) }

func (f *numberHeap) Pop() any {
	n := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return n
}
