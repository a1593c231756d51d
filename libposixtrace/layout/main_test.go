package main

import (
	"bytes"
	"os"
	"testing"
)

// The checked-in headers are what the Go source says. The C compiler checks the same headers against
// the structs that C sees.
func TestHeadersAreCurrent(t *testing.T) {
	for _, h := range headers {
		want, err := h.text()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../" + h.name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("libposixtrace/%s is not what the Go source says: run go generate ./...", h.name)
		}
	}
}
