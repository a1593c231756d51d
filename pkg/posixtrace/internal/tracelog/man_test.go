package tracelog

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

const manPage = "../../../../man/ptrace-log.5"

// The manual page agrees with the code.
func TestManPage(t *testing.T) {
	b, err := os.ReadFile(manPage)
	must(t, err)
	page := strings.Join(strings.Fields(string(b)), " ")
	want := []string{
		fmt.Sprintf("magic: % X", magic),
		fmt.Sprintf("byte order: %#08x", byteOrder),
		fmt.Sprintf("header of %d bytes", headerSize),
		fmt.Sprintf("a multiple of 8, at most %d", maxPayload),
		fmt.Sprintf("a multiple of 8, %d to %d", superFixed, maxSuper),
		fmt.Sprintf("size of the largest chunk, 1 to %d", chunk.MaxSize),
		fmt.Sprintf("number of entries, at most %d", indexEntries),
		fmt.Sprintf("entries Ta %d bytes each", entrySize),
		fmt.Sprintf("the last %d bytes of the file", sealSize),
		fmt.Sprintf("areas of %d bytes for clock anchors", anchorAreaSize),
		fmt.Sprintf("0 Ta %d bytes Ta another area for clock anchors", anchorAreaSize),
		fmt.Sprintf("at least %d and at most %d, rounded down", leastNames, mostNames),
		fmt.Sprintf("at most %d, to both areas", areaAnchors),
		fmt.Sprintf("40 Ta %d bytes Ta the status", statusSize),
		fmt.Sprintf("multiple of 8, and %d bytes more", chunk.JointSize),
		fmt.Sprintf("major version of the format, %d", major),
		fmt.Sprintf("of more than %d bytes", small),
		fmt.Sprintf("%#X for the STOP event", FinalChunk),
		fmt.Sprintf("id, 1 to %d", event.Max-1),
		fmt.Sprintf("whose delta is %#X", chunk.SpanNote),
		fmt.Sprintf("with the delta %#X", chunk.MapNote),
	}
	_, super, _ := strings.Cut(page, ".Ss Superblock")
	super, _, _ = strings.Cut(super, ".El")
	for f := range reflect.TypeFor[attr.Attributes]().Fields() {
		var at, size int
		if _, err := fmt.Sscanf(f.Tag.Get("log"), "%d,%d", &at, &size); err != nil || f.Type == reflect.TypeFor[attr.Time]() {
			continue
		}
		if row := fmt.Sprintf(".It %d Ta u%d Ta", at, 8*size); !strings.Contains(super, row) {
			t.Errorf("the superblock on the page lacks %q, the row of %s", row, f.Name)
		}
	}
	for k := range kindNames {
		le := []byte{byte(k), byte(k >> 8), byte(k >> 16), byte(k >> 24)}
		want = append(want, ".It Li "+string(le))
	}
	for _, n := range []int{chunk.KindSite, chunk.KindBase, chunk.KindFull, chunk.KindPad, chunk.KindJoint} {
		want = append(want, fmt.Sprintf(".It Li 0x%X", n))
	}
	for _, p := range event.Predefined {
		want = append(want, fmt.Sprintf("%d Ta Li %s", p.ID, p.Name))
	}
	for _, w := range want {
		if !strings.Contains(page, strings.Replace(w, "0X", "0x", 1)) {
			t.Errorf("the page lacks %q", w)
		}
	}
}

func TestManPageLint(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	tracetest.Need(t, err == nil, "mandoc")
	if out, err := exec.Command(mandoc, "-T", "lint", "-W", "warning", manPage).CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The tables of the page have no gaps: each row starts where the row before ends.
func TestManPageTables(t *testing.T) {
	b, err := os.ReadFile(manPage)
	must(t, err)
	sizes := map[string]int{"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i32": 4, "i64": 8, "8 bytes": 8, "16 bytes": 16, "32 bytes": 32, "64 bytes": 64, "4144 bytes": anchorAreaSize}
	next, tables := -1, 0
	open := "" // the row before, if its type has no size
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, ".Bl -column \"offset\"") {
			next, open = 0, ""
			tables++
		} else if !strings.HasPrefix(l, ".It ") {
			next = max(next, -1)
			if strings.HasPrefix(l, ".El") {
				next = -1
			}
		} else if next >= 0 {
			f := strings.Split(strings.TrimPrefix(l, ".It "), " Ta ")
			var at int
			if n, _ := fmt.Sscan(f[0], &at); n == 0 {
				continue // the heading
			}
			if open != "" && at != 0 {
				t.Errorf("%s: a type without a size, and not the last row", open)
			} else if at != next {
				t.Errorf("%s: want offset %d", l, next)
			}
			size, known := sizes[f[1]]
			next, open = at+size, ""
			if !known {
				open = l
			}
		}
	}
	if tables < 10 {
		t.Errorf("only %d tables", tables)
	}
}
