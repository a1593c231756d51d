package openlog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// sample is data that compresses to several blocks.
func sample() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := []byte("\x93PTLOG\r\n")
	for len(b) < 300<<10 {
		b = append(b, bytes.Repeat([]byte{byte(r.Uint32())}, int(r.Uint32()%20))...)
	}
	return b
}

func compressZstd(t testing.TB, data []byte, opts ...zstd.EOption) []byte {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, append(opts, zstd.WithEncoderConcurrency(1))...)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compressGzip(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = "build.trace"
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packed returns data in each format.
func packed(t testing.TB, data []byte) map[string][]byte {
	return map[string][]byte{"zstd": compressZstd(t, data), "gzip": compressGzip(t, data)}
}

// read reads everything, and the fault.
func read(t *testing.T, r *Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRead(t *testing.T) {
	want := sample()
	for name, b := range packed(t, want) {
		for way, src := range map[string]io.Reader{
			"whole": bytes.NewReader(b), "bytes": iotest.OneByteReader(bytes.NewReader(b)), "halves": iotest.HalfReader(bytes.NewReader(b)),
			"with EOF": iotest.DataErrReader(bytes.NewReader(b)), "frames": bytes.NewReader(slices.Concat(b, b)),
		} {
			r := NewUnpacker(src)
			got := read(t, r)
			expect := want
			if way == "frames" {
				expect = slices.Concat(want, want)
			}
			if !bytes.Equal(got, expect) || r.Fault() != nil || r.Format() == nil || r.Format().Name != name {
				t.Errorf("%s, %s: %d bytes of %d, %v", name, way, len(got), len(expect), r.Fault())
			}
		}
		if f := DetectFile(bytes.NewReader(b)); f == nil || f.Name != name {
			t.Errorf("%s: %v", name, f)
		}
	}
	// What is not compressed passes unchanged, however short.
	for n := range 12 {
		r := NewUnpacker(iotest.OneByteReader(bytes.NewReader(want[:n])))
		if got := read(t, r); !bytes.Equal(got, want[:n]) || r.Format() != nil || r.Fault() != nil {
			t.Errorf("%d bytes: %q, %v", n, got, r.Fault())
		}
	}
	for _, head := range []string{"BZ", "(", "\x1f", "\xfd7z", "\x04\x22", "P", "P*M"} {
		r := NewUnpacker(strings.NewReader(head))
		if got := read(t, r); string(got) != head || r.Fault() != nil {
			t.Errorf("%q: %q, %v", head, got, r.Fault())
		}
	}
}

// A reader asks for no more input than it needs: a pipe may stay open.
func TestReadWaitsForNothing(t *testing.T) {
	want := sample()
	for name, b := range packed(t, want) {
		pr, pw := io.Pipe()
		go pw.Write(b[:len(b)*3/4]) // and it stays open
		got := make([]byte, 100)
		if _, err := io.ReadFull(NewUnpacker(pr), got); err != nil || !bytes.Equal(got, want[:len(got)]) {
			t.Errorf("%s: %v", name, err)
		}
		pr.Close()
	}
}

// What is cut off anywhere reads as far as it goes.
func TestCut(t *testing.T) {
	want := sample()
	for name, b := range packed(t, want) {
		last, step := 0, max(1, len(b)/tracetest.Scale(40, 3000, 3000))
		for n := 1; n < len(b); n += step {
			r := NewUnpacker(bytes.NewReader(b[:n]))
			got := read(t, r)
			if n <= headSize {
				continue // no sign of the format, perhaps
			}
			if !bytes.HasPrefix(want, got) || len(got) < last {
				t.Fatalf("%s cut at %d: %d bytes, after %d", name, n, len(got), last)
			}
			if r.Fault() != errCut {
				t.Fatalf("%s cut at %d: %v", name, n, r.Fault())
			}
			last = len(got)
		}
		r := NewUnpacker(bytes.NewReader(b[:len(b)-1]))
		if got := read(t, r); !bytes.Equal(got, want) || r.Fault() != errCut {
			t.Errorf("%s without its last byte: %d bytes of %d, %v", name, len(got), len(want), r.Fault())
		}
	}
}

// A changed byte is found, or changes nothing. In no case is there more data than there was.
func TestDamage(t *testing.T) {
	want := sample()
	for name, b := range packed(t, want) {
		for n := 0; n < len(b); n += max(1, len(b)/tracetest.Scale(40, 3000, 3000)) {
			bad := slices.Clone(b)
			bad[n] ^= 0x55
			r := NewUnpacker(bytes.NewReader(bad))
			got, err := io.ReadAll(io.LimitReader(r, 8<<20))
			if err != nil {
				t.Fatal(err)
			}
			if r.Format() != nil && r.Fault() == nil && !bytes.Equal(got, want) {
				t.Errorf("%s, byte %d: %d bytes, and no fault", name, n, len(got))
			}
		}
		bad := slices.Clone(b)
		bad[len(bad)-1-4*strings.Count(name, "gzip")] ^= 1
		r := NewUnpacker(bytes.NewReader(bad))
		if got := read(t, r); r.Fault() != errSum || !bytes.Equal(want, got) {
			t.Errorf("%s, checksum: %v", name, r.Fault())
		}
	}
}

func TestFaults(t *testing.T) {
	want := sample()
	gz, zs := compressGzip(t, want), compressZstd(t, want)
	for _, c := range []struct {
		what string
		data []byte
		want error
		some bool
	}{
		{"zstd behind gzip", slices.Concat(gz, zs), errBehind, true},
		{"text behind gzip", slices.Concat(gz, []byte("some text, and more of it")), errBehind, true},
		{"text behind zstd", slices.Concat(zs, []byte("some text, and more of it")), errBehind, true},
		{"gzip in zstd", compressZstd(t, gz), errTwice, false},
		{"zstd in gzip", compressGzip(t, zs), errTwice, false},
		{"xz in gzip", compressGzip(t, []byte("\xfd7zXZ\x00 and so on")), errTwice, false},
		{"xz", []byte("\xfd7zXZ\x00 and so on"), errUnread, false},
		{"bzip2", []byte("BZh91AY"), errUnread, false},
		{"lz4", []byte("\x04\x22\x4d\x18 and so on"), errUnread, false},
		{"window", compressZstd(t, bytes.Repeat(want, 3), zstd.WithWindowSize(256<<20), zstd.WithSingleSegment(false)), errWindow, false},
		{"dictionary", []byte("\x28\xb5\x2f\xfd\x23\x01\x02\x03\x04\x05\x01\x00\x00"), errDict, false},
		{"nothing in gzip", gz[:2], errCut, false},
		{"bad gzip", []byte("\x1f\x8b\x09\x00\x00\x00\x00\x00\x00\x00\x00"), errBad, false},
	} {
		r := NewUnpacker(bytes.NewReader(c.data))
		if got := read(t, r); r.Fault() != c.want || (len(got) > 0) != c.some {
			t.Errorf("%s: %d bytes, %v, want %v", c.what, len(got), r.Fault(), c.want)
		}
	}
	// pzstd(1) begins with a frame that has no data.
	r := NewUnpacker(bytes.NewReader(slices.Concat([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00\x01\x02\x03\x04"), zs)))
	if got := read(t, r); !bytes.Equal(got, want) || r.Fault() != nil {
		t.Errorf("behind an empty frame: %d bytes, %v", len(got), r.Fault())
	}
}

// A failure to read is an error and no fault.
func TestReadFails(t *testing.T) {
	fails := errors.New("the disk is on fire")
	for name, b := range packed(t, sample()) {
		for _, n := range []int{0, 1, 3, 10, len(b) / 2, len(b) - 1} {
			r := NewUnpacker(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(fails)))
			if _, err := io.ReadAll(r); err != fails || r.Fault() != nil {
				t.Errorf("%s, %d: %v, %v", name, n, err, r.Fault())
			}
		}
	}
}

func TestSeek(t *testing.T) {
	want := sample()
	for name, b := range packed(t, want) {
		r := NewUnpacker(bytes.NewReader(b))
		for _, n := range []int64{0, 1, 5000, 1 << 30} {
			io.CopyN(io.Discard, r, n)
			if at, err := r.Seek(0, io.SeekStart); at != 0 || err != nil {
				t.Fatal(err)
			}
		}
		if got := read(t, r); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
	if _, err := NewUnpacker(iotest.OneByteReader(nil)).Seek(0, io.SeekStart); err == nil {
		t.Error("Seek on a pipe")
	}
}

// Finish finds a wrong checksum behind data that was read, and does not read on for long.
func TestFinish(t *testing.T) {
	want := sample()
	for name, b := range packed(t, want) {
		bad := slices.Clone(b)
		bad[len(bad)-1-4*strings.Count(name, "gzip")] ^= 1
		r := NewUnpacker(bytes.NewReader(bad))
		if _, err := io.ReadFull(r, make([]byte, len(want)-10)); err != nil {
			t.Fatal(name, err)
		}
		if r.Finish(); r.Fault() != errSum {
			t.Errorf("%s: %v", name, r.Fault())
		}
	}
	for name, b := range packed(t, make([]byte, 16<<20)) {
		r := NewUnpacker(bytes.NewReader(b))
		r.Read(make([]byte, 1))
		r.Finish()
		if rest := len(read(t, r)); rest < 8<<20 || r.Fault() != nil {
			t.Errorf("%s: %d bytes left, %v", name, rest, r.Fault())
		}
	}
}

// The memory does not depend on how much there is.
func TestMemory(t *testing.T) {
	size := tracetest.Scale(16, 64, 64) << 20
	zeros := make([]byte, size)
	for name, b := range packed(t, zeros) {
		r := NewUnpacker(bytes.NewReader(slices.Concat(b, b, b, b)))
		clear := make([]byte, 64<<10)
		most, total := uint64(0), 0
		for {
			n, err := r.Read(clear)
			if total += n; err != nil {
				break
			}
			if total>>20 != (total-n)>>20 && total>>20%16 == 0 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
		if bound := uint64(size + 32<<20); total != 4*size || most > bound {
			t.Errorf("%s: %d bytes of memory for %d, want %d", name, most, total, bound)
		}
	}
	runtime.KeepAlive(zeros)
}

func FuzzRead(f *testing.F) {
	for _, b := range packed(f, sample()[:3000]) {
		f.Add(b)
		f.Add(b[:len(b)/2])
		f.Add(slices.Concat(b, b))
	}
	f.Add([]byte("\x28\xb5\x2f\xfd\x23\x01\x02\x03\x04\x05\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got [2][]byte
		var faults [2]error
		for i, src := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b))} {
			r := NewUnpacker(src)
			var err error
			if got[i], err = io.ReadAll(io.LimitReader(r, 1<<20)); err != nil {
				t.Fatal(err)
			}
			if faults[i] = r.Fault(); r.Format() == nil && len(b) < 1<<20 && !bytes.Equal(got[i], b) {
				t.Fatal("what is not compressed is changed")
			}
		}
		if !bytes.Equal(got[0], got[1]) || faults[0] != faults[1] {
			t.Fatalf("%d bytes, %v; byte by byte %d bytes, %v", len(got[0]), faults[0], len(got[1]), faults[1])
		}
	})
}
