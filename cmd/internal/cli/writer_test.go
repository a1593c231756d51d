package cli

import (
	"bytes"
	"testing"
)

// A Writer writes all bytes once and in their order, whatever the sizes of the writes: each pair of
// sizes about its own, after and before a short write.
func TestWriterOrder(t *testing.T) {
	var sizes []int
	for _, n := range []int{0, 1, 100, 4096, WriterSize / 2, WriterSize, WriterSize + 4096, 2 * WriterSize} {
		for d := -1; d <= 1; d++ {
			sizes = append(sizes, max(n+d, 0))
		}
	}
	text := make([]byte, 8*WriterSize)
	for i := range text {
		text[i] = 'a' + byte(i%23) + byte(i/23%3)
	}
	for _, first := range sizes {
		for _, second := range sizes {
			var out bytes.Buffer
			w := NewWriter(&out)
			rest := text
			for _, n := range []int{10, first, second, 10} {
				if got, err := w.Write(rest[:n]); got != n || err != nil {
					t.Fatalf("Write of %d bytes: %d, %v", n, got, err)
				}
				rest = rest[n:]
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if want := text[:len(text)-len(rest)]; !bytes.Equal(out.Bytes(), want) {
				t.Fatalf("writes of 10, %d, %d and 10 bytes: the output has another order, or %d bytes of %d", first, second, out.Len(), len(want))
			}
		}
	}
}
