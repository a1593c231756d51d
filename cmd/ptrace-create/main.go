// Command ptrace-create makes an active trace stream. See ptrace-create(1).
package main

import "github.com/posixtrace/posixtrace/cmd/internal/command"

func main() {
	command.Main(command.Create)
}
