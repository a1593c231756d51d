package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Families of processors, which have bars of their own.
const (
	intel = "Intel"
	amd   = "AMD"
	arm   = "arm"
)

// A machine is what results depend on.
type machine struct {
	name       string // of the model
	family     string // of processors, "" if it is none of the above
	numbers    string // family and model in the vendor's count: a name may be that of several models
	processors int
	clock      string // of the kernel
	kernel     string
}

func thisMachine() machine {
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	m := parseCPUInfo(string(cpuinfo))
	m.processors = runtime.NumCPU()
	m.clock = "unknown"
	if b, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource"); err == nil {
		m.clock = strings.TrimSpace(string(b))
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	return m
}

// parseCPUInfo reads /proc/cpuinfo, of which the first processor counts.
func parseCPUInfo(text string) (m machine) {
	field := map[string]string{}
	for l := range strings.Lines(text) {
		k, v, ok := strings.Cut(l, ":")
		if k = strings.TrimSpace(k); ok && field[k] == "" {
			field[k] = strings.TrimSpace(v)
		}
	}
	m.name = field["model name"]
	switch vendor := field["vendor_id"]; {
	case vendor == "GenuineIntel":
		m.family = intel
	case vendor == "AuthenticAMD":
		m.family = amd
	case field["CPU implementer"] != "":
		m.family = arm
		m.numbers = "implementer " + field["CPU implementer"] + ", part " + field["CPU part"]
	}
	if field["cpu family"] != "" {
		m.numbers = "family " + field["cpu family"] + ", model " + field["model"]
	}
	if m.name == "" {
		m.name = "processor of an unknown kind"
		if m.family != "" {
			m.name = m.family + " processor"
		}
	}
	return m
}

// String identifies the machine: results of two machines with the same string replace each other.
func (m machine) String() string {
	var in []string
	for _, s := range []string{m.family, m.numbers} {
		if s != "" {
			in = append(in, s)
		}
	}
	kind := ""
	if in != nil {
		kind = " (" + strings.Join(in, ", ") + ")"
	}
	return fmt.Sprintf("%s%s, %d processors", m.name, kind, m.processors)
}

var (
	trademark = regexp.MustCompile(`\((R|TM|r|tm)\)`)
	notInFile = regexp.MustCompile(`[^a-z0-9]+`)
	inNumbers = regexp.MustCompile(`[a-z]+ (0x)?`)
)

// file is the name of the model as that of a file, without a suffix.
func (m machine) file() string {
	s := trademark.ReplaceAllString(m.name, "") + " " + inNumbers.ReplaceAllString(m.numbers, "")
	return strings.Trim(notInFile.ReplaceAllString(strings.ToLower(s), "-"), "-")
}

// familyOf returns the family of a machine's string.
func familyOf(machine string) string {
	for _, f := range []string{intel, amd, arm} {
		if strings.Contains(machine, f) {
			return f
		}
	}
	return ""
}
