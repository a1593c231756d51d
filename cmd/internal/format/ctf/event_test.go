package ctf

import (
	"bytes"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The quick test of eight bytes at a time agrees with the exact one, for each byte at each place.
func TestIsText(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for c := range 256 {
				b := bytes.Repeat([]byte{1}, n)
				b[at] = byte(c)
				if got, want := isText(b), c > 0 && c < 0x80; got != want {
					t.Fatalf("isText(%q) = %v", b, got)
				}
			}
		}
	}
	for s, want := range map[string]bool{"": true, "\x7f": true, "Grüße, Welt": true, "Grüße\x00, Welt": false, "Grüße, Welt\xff": false} {
		if got := isText([]byte(s)); got != want {
			t.Errorf("isText(%q) = %v", s, got)
		}
	}
}

// The quick way for the data of an exec agrees with the exact one, and takes it for each data whose
// strings are text and not empty.
func TestPlainExec(t *testing.T) {
	plain := 0
	var try func(data []byte)
	try = func(data []byte) {
		if len(data) > 0 {
			d, err := posixtrace.DecodeExec(append(le.AppendUint32(nil, uint32(len(data))), data...))
			if err != nil {
				t.Fatalf("%q: %v", data, err)
			}
			want, k, _ := (&Trace{}).appendExec([]byte("before"), &d)
			usual := k == decoded && d.Path != "" && len(d.Argv) > 0 && !slices.Contains(d.Argv, "")
			got, ok := appendPlainExec([]byte("before"), data)
			if ok != usual || ok && !bytes.Equal(got, want) {
				t.Fatalf("%q: %v, %q, want %v, %q", data, ok, got, usual, want)
			}
			if ok {
				plain++
			}
		}
		if len(data) < 7 {
			for _, c := range []byte("\x00a\xc3\xbc") {
				try(append(data, c))
			}
		}
	}
	try(make([]byte, 0, 8))
	if plain == 0 {
		t.Error("no data was plain")
	}
}
