//go:build linux

package tracer

// The three processes exchange packets on two sockets: a byte for the type, and data.

// Between ptrace-run and the tracer.
const (
	orderConfig    = 'c' // a Config, as JSON
	orderRelease   = 'q' // stop recording, and detach where no filter is set
	reportAttached = 'a' // the command is traced; data: an error number if it is not
	reportNote     = 'm' // a message for the user
	reportExit     = 'e' // proc.exit of the command is recorded
	reportReleased = 'r'
)

// Between the tracer and the thread that executes or starts the command.
const (
	stageHere     = 'h' // pid and tid of the thread that will execute the command
	stageLaunch   = 's' // pid and tid of the thread that will start it
	stageGo       = 'g' // the thread is traced; data: the filter to set
	stageUntraced = 'l' // the thread is not traced; continue without
	stageSet      = 'f' // the filter is set; data: 0, or an error number if it is not
)
