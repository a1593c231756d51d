// Command ptrace-filter shows and changes which events a stream rejects. See ptrace-filter(1).
package main

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/filter"
)

func main() {
	cli.Main(filter.Command)
}
