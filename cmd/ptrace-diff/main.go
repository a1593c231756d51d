// Command ptrace-diff compares two runs. See ptrace-diff(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/diff"
)

func main() {
	cli.Main(diff.Command)
}
