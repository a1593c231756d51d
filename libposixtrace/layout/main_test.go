package main

import (
	"bytes"
	"os"
	"testing"
)

// The checked-in header is what the Go source says. The C compiler checks the same header against
// the structs that C sees.
func TestHeaderIsCurrent(t *testing.T) {
	want, err := header()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../layout.h")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("libposixtrace/layout.h is not what the Go source says: run go generate ./...")
	}
}
