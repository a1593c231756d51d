// Command ptrace-filter shows and changes which events a stream rejects. See ptrace-filter(1).
package main

import "github.com/posixtrace/posixtrace/cmd/internal/command"

func main() {
	command.Main(command.Filter)
}
