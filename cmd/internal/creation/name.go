package creation

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// CheckNameFree refuses a name that an active stream has, before anything is made for the new one;
// what counts is that posixtrace.Attr.Exclusive refuses it. One that was left behind by a
// process which has ended does not count: a script that makes a stream for itself can
// run again, and what the last run recorded is still there.
func CheckNameFree(name string) error {
	if name == "" {
		return nil
	}
	list, _ := posixtrace.List()
	for _, s := range list {
		if s.Name == name && !s.Stale {
			return NameInUse(name)
		}
	}
	return nil
}

func NameInUse(name string) error {
	return cli.WithHint(cli.Failf("%s: name in use", name), "`ptrace-ctl shutdown "+name+"` ends that stream")
}

// NameFor makes a stream's name of a command's: make-4711. No other living
// process has this number.
func NameFor(command string) string {
	base := []byte(filepath.Base(command))
	for i, c := range base {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' && i > 0) || c == '-' && i == 0 {
			base[i] = '_'
		}
	}
	return string(base[:min(len(base), 32)]) + "-" + strconv.Itoa(os.Getpid())
}
