// Command ptrace-dump reads trace streams and logs. See ptrace-dump(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"
)

func main() {
	cli.Main(dump.Command)
}
