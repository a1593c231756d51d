package analysis

import "math/rand/v2"

// running has the processes that run, by their key: a hash table with open addressing. It is several
// times as fast as a map, and each event of a process needs it.
type running struct {
	slots  []*process // a power of two, at most half of them in use
	shift  uint
	factor uint64 // chosen at random: no log can know which keys collide
	count  int
}

func (r *running) init() {
	r.factor = rand.Uint64() | 1
	r.resize(64)
}

func (r *running) resize(n int) {
	old := r.slots
	r.slots, r.shift = make([]*process, n), 64
	for ; n > 1; n /= 2 {
		r.shift--
	}
	for _, q := range old {
		if q != nil {
			*r.slot(q.key) = q
		}
	}
}

func (r *running) home(key uint64) int { return int(key * r.factor >> r.shift) }

// slot returns the place of a key, which holds nil if the key is not in the table.
func (r *running) slot(key uint64) **process {
	for i := r.home(key); ; i = (i + 1) & (len(r.slots) - 1) {
		if q := r.slots[i]; q == nil || q.key == key {
			return &r.slots[i]
		}
	}
}

// of returns the process of a key, nil if there is none.
func (r *running) of(key uint64) *process { return *r.slot(key) }

// put adds a process whose key is not in the table.
func (r *running) put(q *process) {
	if r.count++; 2*r.count > len(r.slots) {
		r.resize(2 * len(r.slots))
	}
	*r.slot(q.key) = q
}

// remove removes a process that is in the table.
func (r *running) remove(q *process) {
	r.count--
	mask := len(r.slots) - 1
	i := r.home(q.key)
	for r.slots[i] != q {
		i = (i + 1) & mask
	}
	// Move what would no longer be found into the gap.
	for j := i; ; {
		r.slots[i] = nil
		for {
			j = (j + 1) & mask
			if r.slots[j] == nil {
				return
			}
			if home := r.home(r.slots[j].key); (j-home)&mask >= (j-i)&mask {
				break
			}
		}
		r.slots[i], i = r.slots[j], j
	}
}
