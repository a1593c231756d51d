package stream

// outbox hands chunks that a flush has taken to the log. The log may write several of them at once. A
// chunk becomes free when the log has it.
type outbox struct {
	fl     *flusher
	taken  []item
	gone   []bool // of taken: the chunk was left to the writers
	queued []int  // the numbers of those that the log has not yet written
	buf    []byte // for a chunk, where the log has no memory
}

// put puts a part of chunk number i, which has the content p and count events.
func (o *outbox) put(i int, p *piece, part kept, count int) error {
	it := &o.taken[i]
	if part.count > 0 {
		b := Block{Index: it.i, Gen: it.c.blockGen(), Base: p.base, Min: p.min, Max: part.last, Count: part.count}
		// An event that the log lacks is counted when its chunk is free, which must not wait then.
		if part.count == count {
			var err error
			if b.Payload, err = o.space(part.size); err != nil {
				return err
			}
			b.Later = b.Payload != nil
		}
		if !b.Later {
			if o.buf == nil {
				o.buf = make([]byte, o.fl.m.ChunkSize)
			}
			b.Payload = o.buf[:part.size]
		}
		// Put a copy: the checksum must match the bytes that the log writes, even if a hostile process
		// changes the stream meanwhile.
		snapshot(b.Payload, p.b[:part.size])
		if it.held && o.moved(it) {
			o.gone[i] = true
			return nil
		}
		queued, err := o.fl.put(&b)
		if err != nil {
			return err
		}
		if queued {
			o.queued = append(o.queued, i)
			return nil
		}
	}
	if count > part.count {
		o.fl.to.Lost(count - part.count)
	}
	o.free(i)
	return nil
}

// moved reports whether a chunk that is held was emptied before it was copied. Its writer may have ended
// its event, and others may have closed the chunk: the events before stay.
func (o *outbox) moved(it *item) bool {
	c := o.fl.m.at(it.i).probe()
	return c.gen() != it.c.gen() || c.state() < owned
}

// space returns memory of the log for n bytes, nil if the log has none.
func (o *outbox) space(n int) ([]byte, error) {
	get := o.fl.to.Space
	if get == nil {
		return nil, nil
	}
	b := get(n)
	if b == nil && len(o.queued) > 0 {
		if err := o.commit(); err != nil {
			return nil, err
		}
		b = get(n)
	}
	return b, nil
}

// commit writes what the log has queued.
func (o *outbox) commit() error {
	if len(o.queued) == 0 {
		return nil
	}
	n, err := o.fl.to.Commit()
	for _, i := range o.queued[:min(n, len(o.queued))] {
		o.free(i)
	}
	o.queued = o.queued[:0]
	return err
}

// free leaves chunk number i to the writers.
func (o *outbox) free(i int) {
	it := &o.taken[i]
	o.gone[i] = true
	if it.held {
		if o.fl.to.left == nil {
			o.fl.to.left = make(map[int]int)
		}
		o.fl.to.left[it.i] = it.c.count()
		return
	}
	o.fl.m.drop(it.i, it.c.with(o.fl.slot, leaving))
}

// takeBack returns the chunks that are not in the log to the items of the flush.
func (o *outbox) takeBack() {
	m, fl := o.fl.m, o.fl
	for i, it := range o.taken {
		if o.gone[i] || !it.held && !m.at(it.i).handBack(it.c.with(fl.slot, leaving), it.c.state()) {
			continue
		}
		if it.c.state() == partial {
			m.setPartialHint() // writers that looked meanwhile have noted that there is none
		}
		fl.items = append(fl.items, it)
	}
}
