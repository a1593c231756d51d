// Command ptrace-event records events for shell scripts. See ptrace-event(1).
package main

import "github.com/posixtrace/posixtrace/cmd/internal/command"

func main() {
	command.Main(command.Event)
}
