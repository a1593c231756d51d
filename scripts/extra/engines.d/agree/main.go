// Program agree compares what Jaeger and a collector of log records have received with the logs
// themselves. It is part of scripts/extra/engines.
//
// usage: agree ports N             prints N free ports of 127.0.0.1
//
//	agree certificates DIR    writes those of a server and a client, and of who signed them
//	agree sink FILE           takes log records over HTTP, appends each request as a line; prints its port
//	agree spans URL DIR       compares the spans that Jaeger at URL has
//	agree lines DIR           compares the lines of ptrace-export with those of ptrace-dump alone
//	agree records FILE DIR    compares the log records that the sink has
//
// DIR has, for each log NAME.trace: NAME.otlp.jsonl, the lines of ptrace-export; NAME.jsonl, those of
// ptrace-dump -j; NAME.want, attributes that its resource must have, KEY TAB VALUE;
// NAME.lost, the number of events that the log has lost; NAME.said, the messages of ptrace-export; and
// NAME.again if it was sent twice.
package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agree:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "ports":
		return ports(args[1])
	case len(args) == 2 && args[0] == "certificates":
		return certificates(args[1])
	case len(args) == 2 && args[0] == "sink":
		return sink(args[1])
	case len(args) == 3 && args[0] == "spans":
		return spans(args[1], args[2])
	case len(args) == 2 && args[0] == "lines":
		return lines(args[1])
	case len(args) == 3 && args[0] == "records":
		return records(args[1], args[2])
	}
	return fmt.Errorf("unknown arguments: %q", args)
}

// ports prints free ports. All are taken while they are chosen, so that they differ.
func ports(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		fmt.Println(l.Addr().(*net.TCPAddr).Port)
	}
	return nil
}

// logs returns the logs of a directory, without their suffix.
func logs(dir string) ([]string, error) {
	list, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: no logs", dir)
	}
	for i, name := range list {
		list[i] = strings.TrimSuffix(name, ".trace")
	}
	slices.Sort(list)
	return list, err
}

// faults collects what differs, and shows the first of it.
type faults struct{ n int }

func (f *faults) add(format string, args ...any) {
	if f.n++; f.n <= 20 {
		fmt.Fprintf(os.Stderr, "agree: "+format+"\n", args...)
	}
}

func (f *faults) err() error {
	if f.n == 0 {
		return nil
	}
	return fmt.Errorf("%d differences", f.n)
}
