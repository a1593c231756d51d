//go:build linux

// Command ptrace-run runs a command wrapped in a trace stream. See ptrace-run(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/run"
)

func main() {
	cli.Main(run.Command)
}
