// Logs that zstd(1) or gzip(1) has compressed. Nothing in them is trusted. The memory that an
// Unpacker needs is bounded, and does not depend on what is in the log.

package openlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strconv"
	"syscall"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow bounds the part of a log that zstd refers back to: what zstd(1) itself reads without
	// --long.
	maxWindow = 128 << 20
	// maxRest bounds what Finish reads.
	maxRest = 1 << 20
	// headSize is as much as a format is recognized by.
	headSize = 6
)

// Format is a form of compression.
type Format struct {
	Name    string
	Command string // writes the decompressed data of a file to standard output
	// open returns a reader of the decompressed data; it is nil for a format that is not read.
	open func(in *bufio.Reader) (io.Reader, func(), error)
}

var (
	formatZstd  = &Format{"zstd", "zstd -dc --long=31", openZstd}
	formatGzip  = &Format{"gzip", "gzip -dc", openGzip}
	formatXZ    = &Format{"xz", "xz -dc", nil}
	formatBzip2 = &Format{"bzip2", "bzip2 -dc", nil}
	formatLZ4   = &Format{"lz4", "lz4 -dc", nil}
)

// Detect returns the format of data that begins with head, or nil.
func Detect(head []byte) *Format {
	switch {
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")), skippable(head):
		return formatZstd
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return formatGzip
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return formatXZ
	case bytes.HasPrefix(head, []byte("BZh")):
		return formatBzip2
	case bytes.HasPrefix(head, []byte("\x04\x22\x4d\x18")):
		return formatLZ4
	}
	return nil
}

// skippable reports whether head begins a frame of zstd without data, as pzstd(1) writes one first.
func skippable(head []byte) bool {
	return len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18"
}

// DetectFile detects the compression of a regular file.
func DetectFile(f io.ReaderAt) *Format {
	var head [headSize]byte
	n, _ := f.ReadAt(head[:], 0)
	return Detect(head[:n])
}

func openZstd(in *bufio.Reader) (io.Reader, func(), error) {
	// One goroutine, the caller's: what reads a pipe flushes the output of its command.
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return lastBlock{d}, d.Close, nil
}

// lastBlock also returns the data of a block that the decoder has decompressed when it finds that the
// checksum behind it is wrong, or missing. The decoder returns that data by a call after the one with the
// error. The log has checksums of its own.
type lastBlock struct{ *zstd.Decoder }

func (l lastBlock) Read(p []byte) (int, error) {
	n, err := l.Decoder.Read(p)
	if n == 0 && err != nil && err != io.EOF {
		n, err = l.Decoder.Read(p)
	}
	if n > 0 {
		err = nil // the next call returns it again
	}
	return n, err
}

func openGzip(in *bufio.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(in)
	return z, func() {}, err
}

// Reader reads data that may be compressed.
type Reader struct {
	src    packedSource
	in     *bufio.Reader
	format *Format   // nil for data that is not compressed
	data   io.Reader // nil before the first Read
	close  func()
	some   bool  // Read has returned data
	fault  error // why the data ended early
}

// packedSource is the input of a Reader. It knows whether an error is that of reading.
type packedSource struct {
	io.Reader
	err error
}

func (s *packedSource) Read(p []byte) (n int, err error) {
	n, err = s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// NewUnpacker returns a reader of what r yields. It does not read before the first Read.
func NewUnpacker(r io.Reader) *Reader {
	return &Reader{src: packedSource{Reader: r}}
}

// Format returns the form of compression, nil if there is none, or before the first Read.
func (r *Reader) Format() *Format { return r.format }

// Fault returns why the data ended before its end, or nil: it is cut off, or unsound. Read returns
// io.EOF then, so that what precedes is read like a log that is cut off.
func (r *Reader) Fault() error { return r.fault }

// Read reads decompressed data.
func (r *Reader) Read(p []byte) (int, error) {
	if r.fault != nil {
		return 0, io.EOF
	}
	if r.data == nil {
		if err := r.begin(); err != nil {
			return 0, r.end(err)
		}
	}
	n, err := r.data.Read(p)
	if n > 0 && !r.some {
		r.some = true
		if r.format != nil && Detect(p[:n]) != nil {
			return 0, r.end(errTwice)
		}
	}
	if err != nil {
		err = r.end(err)
	}
	return n, err
}

// begin recognizes the format.
func (r *Reader) begin() error {
	r.in = bufio.NewReaderSize(&r.src, 64<<10)
	// Ask for no more than there must be: a pipe may stay open.
	head, err := r.in.Peek(1)
	for n := 2; err == nil && n <= headSize && begins(head); n++ {
		head, err = r.in.Peek(n)
	}
	if r.src.err != nil {
		return r.src.err
	}
	r.data, r.close = r.in, func() {}
	if r.format = Detect(head); r.format == nil {
		return nil
	}
	if r.format.open == nil {
		return errUnread
	}
	r.data, r.close, err = r.format.open(r.in)
	if err != nil {
		r.data, r.close = r.in, func() {}
	}
	return err
}

// begins reports whether head may be the beginning of a longer one that shows a format.
func begins(head []byte) bool {
	switch head[0] {
	case 0x28, 0x1f, 0xfd, 'B', 0x04:
		return true
	}
	return head[0]&0xf0 == 0x50
}

// Faults of compressed data. The text follows the words "zstd data".
var (
	errCut    = errors.New("is cut off")
	errBad    = errors.New("is damaged")
	errSum    = errors.New("has a wrong checksum")
	errBehind = errors.New("is followed by something else")
	errTwice  = errors.New("holds compressed data")
	errUnread = errors.New("is not read as it is")
	errWindow = errors.New("has a window of more than " + strconv.Itoa(maxWindow>>20) + " MiB")
	errDict   = errors.New("needs a dictionary")
)

// Elsewhere reports whether a fault is a matter of this package: another program may read the data.
func Elsewhere(fault error) bool {
	return fault == errTwice || fault == errUnread || fault == errWindow
}

// end returns what Read returns for an error: that of reading, or io.EOF behind a fault.
func (r *Reader) end(err error) error {
	switch {
	case r.src.err != nil:
		return r.src.err
	case err == io.EOF && r.data != nil:
		return io.EOF
	}
	r.fault = r.describe(err)
	return io.EOF
}

// describe returns the fault for an error of a library.
func (r *Reader) describe(err error) error {
	switch {
	case err == errTwice, err == errUnread:
		return err
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return errCut
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrFrameSizeExceeded):
		return errWindow
	case errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, gzip.ErrChecksum):
		return errSum
	case errors.Is(err, zstd.ErrUnknownDictionary):
		return errDict
	case errors.Is(err, zstd.ErrMagicMismatch), errors.Is(err, gzip.ErrHeader):
		if r.some {
			return errBehind
		}
	}
	return errBad
}

// Finish reads what follows the log, within bounds, so that Fault also reports what the checksum at the
// end of the data shows. A read that would wait is not worth it: call Finish for regular files only.
func (r *Reader) Finish() {
	if r.format == nil || r.data == nil || r.fault != nil {
		return
	}
	var buf [4096]byte
	for n := 0; n < maxRest; {
		k, err := r.Read(buf[:])
		if n += k; err != nil {
			return
		}
	}
}

// Seek goes back to the start; it has no other use. Errors: ESPIPE what is read is no file.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	s, ok := r.src.Reader.(io.Seeker)
	if !ok || offset != 0 || whence != io.SeekStart {
		return 0, syscall.ESPIPE
	}
	if _, err := s.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	r.Close()
	*r = Reader{src: packedSource{Reader: r.src.Reader}}
	return 0, nil
}

// Close releases memory. It does not close what is read.
func (r *Reader) Close() {
	if r.close != nil {
		r.close()
		r.close = nil
	}
}
