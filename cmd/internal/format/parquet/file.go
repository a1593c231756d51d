// Package parquet writes events as rows of a Parquet file. It writes column by column: rows as Go
// values would cost five times as much.
//
// schema.go has the columns, column.go writes one, event.go has the values of an event, metadata.go
// what the file says about the logs.
package parquet

import (
	"errors"
	"io"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"

	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A row group ends at that many rows, or bytes of data.
const (
	groupRows  = 1 << 19
	groupBytes = 32 << 20
	// batchBytes is how much data of events the writer takes at once, unless one event has more.
	batchBytes = 1 << 20
	batchRows  = 256
)

// File is a file that is being written.
type File struct {
	w       *pq.GenericWriter[row]
	columns [columns]column
	rows    int // in this row group
	bytes   int // of data in it

	vals    [batchRows]pq.Value // of one column
	log     *Log
	logs    []*Log
	call    posixtrace.SyscallData // reused
	decoded sysevent.Data          // reused

	keys, rest []pq.Value          // of the map of an event
	known      map[string]pq.Value // keys of maps
	digits     []byte              // of numbers in the maps of these events
}

// Create returns a file that w gets.
func Create(w io.Writer, program, version string) *File {
	f := &File{known: map[string]pq.Value{}, w: pq.NewGenericWriter[row](w,
		schema,
		pq.CreatedBy(program, version, ""),
		pq.Compression(&snappy.Codec{}),
		pq.DataPageVersion(1), // all readers know it
		pq.DictionaryMaxBytes(1<<20),
		pq.DataPageStatistics(false), // the index has them
		// Row groups have statistics of the other columns. These cost too much for what they are worth.
		pq.SkipPageBounds("host"), pq.SkipPageBounds("trace"), pq.SkipPageBounds("command"), pq.SkipPageBounds("log"),
		pq.SkipPageBounds("class"), pq.SkipPageBounds("truncation"),
		pq.SkipPageBounds("data"), pq.SkipPageBounds("data_binary"),
	)}
	f.begin()
	return f
}

func (f *File) begin() {
	for i, w := range f.w.ColumnWriters() {
		f.columns[i] = column{w: w, vals: f.columns[i].vals[:0]}
	}
	f.rows, f.bytes = 0, 0
}

// Add adds events of the log that Begin was called for last.
func (f *File) Add(recs []posixtrace.Record) error {
	for len(recs) > 0 {
		n, size := 0, 0
		for n < min(len(recs), batchRows) && (n == 0 || size+len(recs[n].Data) <= batchBytes) {
			size += len(recs[n].Data)
			n++
		}
		if err := f.add(recs[:n], size); err != nil {
			return err
		}
		recs = recs[n:]
	}
	return nil
}

func (f *File) add(recs []posixtrace.Record, size int) error {
	f.digits = f.digits[:0]
	f.addRequired(recs)
	for i := range recs {
		f.addEvent(f.rows+i, &recs[i])
	}
	f.rows += len(recs)
	f.bytes += size
	f.log.Events += uint64(len(recs))
	var err error
	for i := range f.columns {
		c := &f.columns[i]
		c.flush()
		err = errors.Join(err, c.err)
	}
	if err == nil && (f.rows >= groupRows || f.bytes >= groupBytes) {
		err = f.endGroup()
	}
	return err
}

// endGroup writes the row group.
func (f *File) endGroup() error {
	if f.rows == 0 {
		return nil
	}
	var err error
	for i := range f.columns[firstOptional:] {
		c := &f.columns[firstOptional+i]
		c.reach(f.rows)
		c.flush()
		err = errors.Join(err, c.err)
	}
	if err == nil {
		err = f.w.Flush()
	}
	f.begin()
	return err
}

// Close completes the file.
func (f *File) Close() error {
	if err := f.endGroup(); err != nil {
		return err
	}
	f.setMetadata()
	return f.w.Close()
}
