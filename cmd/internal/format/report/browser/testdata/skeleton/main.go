// Skeleton prints the page of a report with a mark in each slot, for tests that fill it themselves.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/posixtrace/posixtrace/cmd/internal/format/report/page"
)

func main() {
	fill := map[string]func(io.Writer) error{}
	for _, name := range []string{"title", "links", "verdict", "differences", "chain", "tables", "holds", "data"} {
		fill[name] = func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "@@%s@@", name)
			return err
		}
	}
	if err := page.Write(os.Stdout, fill); err != nil {
		fmt.Fprintln(os.Stderr, "skeleton:", err)
		os.Exit(1)
	}
}
