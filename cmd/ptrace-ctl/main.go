// Command ptrace-ctl controls active trace streams. See ptrace-ctl(1).
package main

import "github.com/posixtrace/posixtrace/cmd/internal/command"

func main() {
	command.Main(command.Ctl)
}
