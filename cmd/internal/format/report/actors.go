package report

// actor is a thread, or a process where no thread is known.
type actor struct {
	source   int32
	pid, tid int32
}

// actors numbers the threads that have marks.
type actors struct {
	ids    map[actor]int32
	list   []actor
	latest int32
}

// maxActors bounds the threads. All others share number 0.
const maxActors = 1 << 14

func (a *actors) init() {
	a.list = []actor{{source: -1}}
	a.ids = map[actor]int32{}
}

func (a *actors) of(source int32, pid, tid int) int32 {
	x := actor{source, int32(pid), int32(tid)}
	if a.list[a.latest] == x {
		return a.latest
	}
	id, ok := a.ids[x]
	if !ok {
		if len(a.list) >= maxActors {
			return 0
		}
		id = int32(len(a.list))
		a.ids[x] = id
		a.list = append(a.list, x)
	}
	a.latest = id
	return id
}
