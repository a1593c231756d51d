package otlp

const (
	// batchSize is the size at which a batch ends.
	batchSize = 1 << 20
	// MaxBatch bounds a batch. The largest span has some 2 MiB.
	MaxBatch = 4 << 20
)

// scope names what has recorded the events.
const scope = `{"scope":{"name":"posixtrace"},`

// batch collects items of one kind.
type batch struct {
	b     []byte
	head  int // bytes before the first item
	count int
	put   func(body []byte, count int) error
	err   error // of put; the rest is not written
}

func (b *batch) init(kind string, resource []byte, scopes, items string, put func([]byte, int) error) {
	b.b = append(append(b.b, kind...), `{"resource":`...)
	b.b = append(append(b.b, resource...), ',')
	b.b = append(append(b.b, scopes...), `:[`...)
	b.b = append(append(append(b.b, scope...), items...), `:[`...)
	b.head, b.put = len(b.b), put
}

// next begins an item: the caller appends it to b.b.
func (b *batch) next() []byte {
	b.count++
	if b.count > 1 {
		return append(b.b, ',')
	}
	return b.b
}

// end ends an item, and the batch if it is full.
func (b *batch) end(with []byte) {
	if b.b = with; len(with) >= batchSize {
		b.flush()
	}
}

func (b *batch) flush() error {
	if b.count > 0 && b.err == nil {
		body := append(b.b, `]}]}]}`...)
		b.err = b.put(body, b.count)
		b.b = body
	}
	b.b, b.count = b.b[:b.head], 0
	return b.err
}
