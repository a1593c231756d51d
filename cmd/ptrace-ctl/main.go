// Command ptrace-ctl controls active trace streams. See ptrace-ctl(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/command"
	_ "github.com/posixtrace/posixtrace/cmd/internal/table" // it prints tables
)

func main() {
	command.Main(command.Ctl)
}
