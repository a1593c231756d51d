package parquet

import pq "github.com/parquet-go/parquet-go"

// column is a column of the row group that is being written. Most rows have no value in most optional
// columns: column notes only those that have, and writes the nulls between them in bulk.
type column struct {
	w    *pq.ColumnWriter
	rows int // with values and nulls so far
	vals []pq.Value
	size int   // bytes that vals refer to
	err  error // the first failure
}

const (
	maxVals = 256
	// maxPending bounds the bytes that vals refer to, and so the size of a page.
	maxPending = 256 << 10
)

// nulls are what a column without values has.
var nulls [4096]pq.Value

// put appends the value of a row; the rows before it without one are null.
func (c *column) put(row int, v pq.Value, size int) {
	c.reach(row)
	v.SetDefinitionLevel(levelValue)
	c.vals = append(c.vals, v)
	c.rows++
	c.grow(size)
}

// list appends the items of a row's list.
func (c *column) list(row int, n int, item func(i int) (pq.Value, int)) {
	c.reach(row)
	c.rows++
	if n == 0 {
		c.vals = append(c.vals, pq.NullValue().Level(0, levelEmpty, 0))
		c.grow(0)
		return
	}
	size := 0
	for i := range n {
		v, s := item(i)
		c.vals = append(c.vals, v.Level(min(i, 1), levelItem, 0))
		size += s
	}
	c.grow(size)
}

func (c *column) grow(size int) {
	if c.size += size; c.size >= maxPending || len(c.vals) >= maxVals {
		c.flush()
	}
}

// reach appends nulls up to a row.
func (c *column) reach(row int) {
	n := row - c.rows
	if n == 0 {
		return
	}
	c.rows = row
	if len(c.vals)+n < maxVals {
		c.vals = append(c.vals, nulls[:n]...)
		return
	}
	c.flush()
	for n > 0 {
		k := min(n, len(nulls))
		c.write(nulls[:k])
		n -= k
	}
}

// flush writes the values: what they refer to is valid only now.
func (c *column) flush() {
	if len(c.vals) > 0 {
		c.write(c.vals)
		c.vals, c.size = c.vals[:0], 0
	}
}

func (c *column) write(vals []pq.Value) {
	if c.err == nil {
		_, c.err = c.w.WriteRowValues(vals)
	}
}
