package newstream

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// CheckNameFree refuses the name of an active stream before the command creates anything;
// the authoritative check is Attr.Exclusive. The name of a stale stream is free: a script
// that creates a stream for itself can run again while the stream of its last run still
// exists.
func CheckNameFree(name string) error {
	if name == "" {
		return nil
	}
	list, _ := posixtrace.List()
	for _, s := range list {
		if s.Name == name && !s.Stale && s.Err == nil {
			return NameInUse(name)
		}
	}
	return nil
}

func NameInUse(name string) error {
	return cli.WithHint(cli.Failf("%s: name in use", name), "`ptrace-ctl shutdown "+name+"` ends that stream")
}

// Conceal takes the name of a stream from its attributes if conceal replaces a part of it, and returns what is left, for
// NameFor: streams of different names may have the same one left.
func Conceal(attr *posixtrace.Attr, conceal func(string) string) (left string) {
	if left = conceal(attr.Name); left == attr.Name {
		return ""
	}
	attr.Name = ""
	return left
}

// NameFor derives a stream name from a command name: make-4711. No other running process
// has this pid.
func NameFor(command string) string {
	base := []byte(filepath.Base(command))
	for i, c := range base {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' && i > 0) || c == '-' && i == 0 {
			base[i] = '_'
		}
	}
	return string(base[:min(len(base), 32)]) + "-" + strconv.Itoa(os.Getpid())
}
