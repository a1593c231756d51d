//go:build linux

// Command ptrace-create makes an active trace stream. See ptrace-create(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/create"
)

func main() {
	cli.Main(create.Command)
}
