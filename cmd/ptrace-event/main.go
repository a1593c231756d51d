// Command ptrace-event records events for shell scripts. See ptrace-event(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/event"
)

func main() {
	cli.Main(event.Command)
}
