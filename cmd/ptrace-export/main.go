// Command ptrace-export writes logs in the formats of other systems. See ptrace-export(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/export"
)

func main() {
	cli.Main(export.Command)
}
