//go:build linux

// Command ptrace-ctl controls active trace streams. See ptrace-ctl(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/ctl"
)

func main() {
	cli.Main(ctl.Command)
}
