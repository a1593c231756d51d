// Command ptrace-run runs a command wrapped in a trace stream. See ptrace-run(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/command"
	_ "github.com/posixtrace/posixtrace/cmd/internal/table" // it prints tables
)

func main() {
	command.Main(command.Run)
}
