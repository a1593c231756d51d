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
