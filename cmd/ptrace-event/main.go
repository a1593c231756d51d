//go:build linux

// Command ptrace-event records events for shell scripts. See ptrace-event(1).
//
//go:debug updatemaxprocs=0
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/event"
	_ "github.com/posixtrace/posixtrace/cmd/internal/startup/idle"  // before all else is initialized
	_ "github.com/posixtrace/posixtrace/cmd/internal/startup/plain" // before the rest is initialized
)

func main() {
	cli.Main(event.Command)
}
