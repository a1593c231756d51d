package dump

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
)

// Commands of other versions read the same cursor file. What changes in it changes the number in cursorMagic:
// a file of another number is refused.
func TestCursorHasItsVersion(t *testing.T) {
	c := &cursors{path: filepath.Join(t.TempDir(), "cursor"), keys: []string{"key"}, lines: []cursorLine{{"other", "1 2 3"}}}
	c.mine = []*cursor{{Position: selection.Position{Started: true, Time: 5, Seen: []selection.Mark{{Time: 5, Sum: 0xab}, {Time: 5, Sum: 2}}}, base: 4, based: true}}
	if err := c.save(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(c.path)
	if want := "ptrace-dump cursor 1\nkey 4 5 ab,2\nother 1 2 3\n"; err != nil || string(got) != want {
		t.Errorf("the cursor file is %q, want %q. Raise the number in cursorMagic, and that of this test.", got, want)
	}
}

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
