package command

import "os"

// scriptPID returns the process that the command acts for: the script.
func scriptPID() int { return os.Getppid() }
