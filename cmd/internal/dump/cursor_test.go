package dump

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A saved cursor file reads back the same, and any other content is harmless.
func FuzzCursor(f *testing.F) {
	f.Add([]byte(cursorMagic + "\nkey 1 2 a,b\nother -5 7 ffffffffffffffff\n"))
	f.Add([]byte(cursorMagic + "\n"))
	f.Add([]byte("ptrace-dump cursor 2\n"))
	f.Add([]byte(cursorMagic + "\nkey 1 2 ,\n\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "cursor")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		c := &cursors{path: path}
		if c.read() != nil {
			return
		}
		for _, l := range c.lines {
			cur := &cursor{}
			if err := cur.parse(l.rest); err != nil {
				t.Fatalf("%q was read and is not understood: %v", l.rest, err)
			}
			c.mine, c.keys = append(c.mine, cur), append(c.keys, l.key)
		}
		if err := c.save(); err != nil {
			t.Fatal(err)
		}
		again := &cursors{path: path}
		if err := again.read(); err != nil {
			t.Fatalf("%v in what was written: %q", err, c.wrote)
		}
		for i, l := range again.lines {
			cur := &cursor{}
			if err := cur.parse(l.rest); err != nil {
				t.Fatal(err)
			}
			if was := c.mine[i]; l.key != c.keys[i] || cur.Time != was.Time || cur.base != was.base || !slices.Equal(cur.Seen, was.Seen) {
				t.Fatalf("%+v comes back as %+v", was, cur)
			}
		}
	})
}
