//go:build linux

// Command posixtrace-agent works for one process that uses POSIX Trace in C: it creates the
// process's streams, writes their logs and reads them. The C library starts it. See
// posix_trace_create(3).
package main

import (
	"os"

	"github.com/posixtrace/posixtrace/cmd/internal/agent"
	_ "github.com/posixtrace/posixtrace/cmd/internal/startup/original"
)

func main() { os.Exit(agent.Main(os.Args)) }
