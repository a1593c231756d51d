package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "record the layouts of new versions")

const recorded = "../../testdata/stable/layout.txt"

// shared is a layout that programs of different versions may see, and where its version is written.
type shared struct {
	name    string
	version *regexp.Regexp // of the line with it
	raise   string         // what to change, and where
	parts   []part
}

var layouts = []shared{
	{"stream", regexp.MustCompile(`#define PXT_version (\d+)`), "`version` in pkg/posixtrace/internal/stream/mem.go", parts[1:4]},
	{"directory", regexp.MustCompile(`#define PXT_PG_pageMagic (\S+)`), "`pageMagic` in pkg/posixtrace/internal/registry/layout.go", parts[4:]},
	{"agent", regexp.MustCompile(`#define PXT_W_Version (\d+)`), "`Version` in cmd/internal/agent/wire", wire},
}

// tuning are constants that each process may have as it likes.
var tuning = regexp.MustCompile(`(?m)^#define PXT_(\w*Tries|lookAgain|horizonStep|StartSize|mapShare|leastNotes|siteBits|siteCache) .*\n`)

// layout returns the text of a layout, and its version.
func (l *shared) layout() (text, version string, err error) {
	b, err := (&header{guard: "PXT", parts: l.parts}).text()
	if err != nil {
		return "", "", err
	}
	text = tuning.ReplaceAllString(string(b), "")
	_, text, _ = strings.Cut(text, "#include <stdint.h>\n")
	text = strings.TrimSuffix(text, "\n#endif\n")
	m := l.version.FindStringSubmatch(text)
	if m == nil {
		return "", "", fmt.Errorf("%s: no version", l.name)
	}
	if n, err := strconv.Atoi(m[1]); err == nil {
		m[1] = strconv.Itoa(n & 0xffff) // above it, the size of a word
	}
	return strings.TrimSpace(text), m[1], nil
}

// A process attaches to a stream, a page or an agent that has its version, and relies on its layout from
// then on. So whatever changes in a layout changes its version.
func TestVersionsOfLayouts(t *testing.T) {
	var now strings.Builder
	now.WriteString("The layouts that processes share, with their versions. `go test ./libposixtrace/layout -update` writes this.\n")
	b, _ := os.ReadFile(recorded)
	for _, l := range layouts {
		text, version, err := l.layout()
		if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("\n== %s, version %s\n\n", l.name, version)
		now.WriteString(head + text + "\n")
		_, before, ok := strings.Cut(string(b), head)
		before, _, _ = strings.Cut(before, "\n\n== ")
		if ok && strings.TrimSpace(before) != text {
			t.Fatalf("the layout of the %s has changed, and its version is still %s: %s\nProcesses that run while a new version is "+
				"installed would misread each other. Raise %s, then run go generate ./... and this test with -update.",
				l.name, version, difference(before, text), l.raise)
		}
		if !ok && !*update {
			t.Errorf("version %s of the layout of the %s is not in %s: run this test with -update", version, l.name, recorded)
		}
	}
	if *update {
		if err := os.WriteFile(recorded, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// difference returns the first lines that differ.
func difference(before, after string) string {
	was, is := strings.Split(strings.TrimSpace(before), "\n"), strings.Split(after, "\n")
	for i := range is {
		if i >= len(was) || was[i] != is[i] {
			old := "the end"
			if i < len(was) {
				old = was[i]
			}
			return fmt.Sprintf("%q was %q", is[i], old)
		}
	}
	return fmt.Sprintf("%d lines were %d", len(is), len(was))
}

// What processes of other versions read of a stream is the same in all versions: the magic number, the
// version and the id, two counters behind them, and the constants of the stream.
func TestStartOfStreamsNeverChanges(t *testing.T) {
	text, _, err := layouts[0].layout()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(start), "\n") {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the layout of the stream lacks %q. Programs of version 10 and later read it in streams of all versions: "+
				"put new members behind struct fixed.", line)
		}
	}
}

const start = `
_Static_assert(sizeof(struct pxt_stable) == 32, "layout");
_Static_assert(offsetof(struct pxt_stable, magic) == 0, "layout");
_Static_assert(offsetof(struct pxt_stable, version) == 8, "layout");
_Static_assert(offsetof(struct pxt_stable, headerSize) == 12, "layout");
_Static_assert(offsetof(struct pxt_stable, size) == 16, "layout");
_Static_assert(offsetof(struct pxt_stable, id) == 24, "layout");
_Static_assert(offsetof(struct pxt_header, missed) == 32, "layout");
_Static_assert(offsetof(struct pxt_header, missedErr) == 36, "layout");
_Static_assert(offsetof(struct pxt_header, fixed) == 40, "layout");
_Static_assert(sizeof(struct pxt_fixed) == 5720, "layout");
_Static_assert(offsetof(struct pxt_fixed, pidns) == 56, "layout");
_Static_assert(offsetof(struct pxt_fixed, logPathLen) == 72, "layout");
_Static_assert(offsetof(struct pxt_fixed, attributes) == 120, "layout");
_Static_assert(offsetof(struct pxt_fixed, logPath) == 600, "layout");
`

const recordedAttributes = "../../testdata/stable/attributes.txt"

// An attribute more changes no version: it takes room behind the others, which keep their places.
func TestAttributesKeepTheirPlaces(t *testing.T) {
	text, err := (&header{guard: "PXT", parts: parts[:1]}).text()
	if err != nil {
		t.Fatal(err)
	}
	now := strings.Join(regexp.MustCompile(`_Static_assert\(.*struct pxt_attributes.*\n`).FindAllString(string(text), -1), "")
	before, _ := os.ReadFile(recordedAttributes)
	switch {
	case now == "":
		t.Fatal("no attributes")
	case !strings.HasPrefix(now, string(before)):
		t.Errorf("attributes have moved: %s\nPut new ones behind the others.", difference(string(before), now))
	case *update:
		if err := os.WriteFile(recordedAttributes, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	case now != string(before):
		t.Errorf("%s lacks attributes: run this test with -update", recordedAttributes)
	}
}
