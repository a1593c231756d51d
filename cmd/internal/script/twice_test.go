package script_test

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

func init() { helpers["twice"] = twice }

// twice NAME=VALUE NAME=VALUE COMMAND [ARG]... executes a command with two variables of the same name in its
// environment, which a shell cannot make.
func twice() {
	path, err := exec.LookPath(os.Args[3])
	if err == nil {
		err = unix.Exec(path, os.Args[3:], append(os.Args[1:3:3], os.Environ()...))
	}
	panic(err)
}
