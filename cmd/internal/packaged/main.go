//go:build packaged

// Command packaged is six commands in one file, for the packages of scripts/package: it is a third
// as large as the six, and starts as they do. The name under which it is called selects the command.
// ptrace-event, which must start fast, and ptrace-export, which is large, are files of their own.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/create"
	"github.com/posixtrace/posixtrace/cmd/internal/ctl"
	"github.com/posixtrace/posixtrace/cmd/internal/diff"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"
	"github.com/posixtrace/posixtrace/cmd/internal/filter"
	"github.com/posixtrace/posixtrace/cmd/internal/run"
)

func main() {
	name := ""
	if len(os.Args) > 0 {
		name = filepath.Base(os.Args[0])
	}
	for _, c := range []*cli.Command{create.Command, ctl.Command, diff.Command, dump.Command, filter.Command, run.Command} {
		if c.Name == name {
			cli.Main(c)
			return
		}
	}
	fmt.Fprintf(os.Stderr, "posixtrace: %q is none of the commands in this file\n", name)
	os.Exit(2)
}
