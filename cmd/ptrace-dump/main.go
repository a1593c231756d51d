// Command ptrace-dump reads trace streams and logs. See ptrace-dump(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/command"
	_ "github.com/posixtrace/posixtrace/cmd/internal/table" // it prints tables
)

func main() {
	command.Main(command.Dump)
}
