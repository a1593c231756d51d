// Typecheck checks the packages of a module for other systems and processors, with all that they
// import, from source. It needs a small part of the time that a compiler takes.
//
// usage: typecheck GOOS/GOARCH... -- PACKAGE...
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	n := slices.Index(os.Args, "--")
	if n < 2 || n == len(os.Args)-1 {
		fmt.Fprintln(os.Stderr, "usage: typecheck GOOS/GOARCH... -- PACKAGE...")
		os.Exit(2)
	}
	faults := 0
	for _, platform := range os.Args[1:n] {
		system, processor, _ := strings.Cut(platform, "/")
		list, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedModule,
			Env:  append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		}, os.Args[n+1:]...)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			os.Exit(1)
		}
		checked := 0
		packages.Visit(list, nil, func(p *packages.Package) {
			checked++
			for _, e := range p.Errors {
				fmt.Fprintf(os.Stderr, "%s: %v\n", platform, e)
				faults++
			}
		})
		fmt.Printf("%s: %d packages\n", platform, checked)
	}
	if faults > 0 {
		os.Exit(1)
	}
}
