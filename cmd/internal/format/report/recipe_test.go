package report

import (
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The lines of a recipe of make have their targets and texts as names, and their rows lead to them.
func TestRecipes(t *testing.T) {
	w := newRun()
	w.names = []string{"make.begin", "make.end"}
	record := func(at int64, end int, key uint32, data string) {
		w.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: firstID + posixtrace.EventID(end), PID: 10, TID: 10, Span: catalog.RecipeKey(key), UnixNano: t0 + at*ms}, Data: []byte(data)}})
	}
	long := "b.o: cc " + strings.Repeat("-DX ", 54) // longer than a row
	w.exec(0, 10, "/bin/make")
	record(1, 0, 1, "a.o: cc -O2 -c a.c")
	record(4, 1, 1, "0")
	record(5, 0, 2, long)
	record(9, 1, 2, "2")
	w.exit(10, 10, 2)
	html, r := w.page(t, Facts{})
	a := find(t, r, "make a.o: cc -O2 -c a.c")
	for _, want := range []string{
		`data-span="` + itoa(int32(a)) + `"><th scope="row">a.o: cc -O2 -c a.c</th>`,
		`data-span="` + strconv.Itoa(3-a) + `"><th scope="row">b.o: cc -DX`,
		`<code>make a.o: cc -O2 -c a.c</code>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
