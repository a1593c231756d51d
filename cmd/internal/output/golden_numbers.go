package output

import "container/heap"

// numbers gives out numbers from 1 on, the lowest that is free; 0 stands for the zero value.
type numbers[K comparable] struct {
	of   map[K]*numbered
	free freeNumbers
	last int

	// within makes a number free again only while a lower one is held.
	within bool
	taken  freeNumbers  // those that are held, and some that are not any more:
	gone   map[int]bool // these
}

type numbered struct {
	n    int // 0: none yet
	held int // events that have to do with it and are held back
}

func (s *numbers[K]) hold(k K) {
	if s.of == nil {
		s.of = map[K]*numbered{}
	}
	if s.of[k] == nil {
		s.of[k] = &numbered{}
	}
	s.of[k].held++
}

// number returns the number of k, 0 for what is not held.
func (s *numbers[K]) number(k K) int {
	e, zero := s.of[k], *new(K)
	if e == nil || k == zero {
		return 0
	}
	if e.n == 0 {
		if len(s.free) > 0 {
			e.n = heap.Pop(&s.free).(int)
		} else {
			s.last++
			e.n = s.last
		}
		if s.gone[e.n] {
			delete(s.gone, e.n)
		} else if s.within {
			heap.Push(&s.taken, e.n)
		}
	}
	return e.n
}

func (s *numbers[K]) release(k K) {
	e := s.of[k]
	if e.held--; e.held > 0 {
		return
	}
	delete(s.of, k)
	if e.n != 0 && s.inner(e.n) {
		heap.Push(&s.free, e.n)
	}
}

// inner reports whether the number that is about to be free may be given again.
func (s *numbers[K]) inner(n int) bool {
	if !s.within {
		return true
	}
	if s.gone == nil {
		s.gone = map[int]bool{}
	}
	s.gone[n] = true
	for len(s.taken) > 0 && s.gone[s.taken[0]] {
		delete(s.gone, heap.Pop(&s.taken).(int))
	}
	return len(s.taken) > 0 && s.taken[0] < n
}

// freeNumbers is a heap.
type freeNumbers []int

func (f freeNumbers) Len() int           { return len(f) }
func (f freeNumbers) Less(i, j int) bool { return f[i] < f[j] }
func (f freeNumbers) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *freeNumbers) Push(n any)        { *f = append(*f, n.(int)) }

func (f *freeNumbers) Pop() any {
	n := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return n
}
