package agent

import (
	"fmt"
	"os"
	"strings"
)

// commandOf returns the command line of a process.
func commandOf(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSuffix(string(b), "\x00")
}

// rightsOf returns what decides on the rights of a process.
func rightsOf(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "", err
	}
	var s strings.Builder
	for line := range strings.Lines(string(b)) {
		switch name, _, _ := strings.Cut(line, ":"); name {
		case "Uid", "Gid", "Groups", "CapEff", "Seccomp":
			s.WriteString(line)
		}
	}
	return s.String(), nil
}
