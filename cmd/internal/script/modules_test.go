package script_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// thirdParty is installed with the commands. It lists the modules that are linked into them, and the
// directories of these that have a licence of their own, with version and licence, followed by the texts
// of the licences.
var thirdParty = filepath.Join("..", "..", "..", "THIRD_PARTY_LICENSES")

const thirdPartyHead = `The commands are linked with these modules, under these licences; the texts follow.
The test TestModules compares this file with what is linked; with -update it writes it.

`

// exportModules are linked into ptrace-export alone, so that the start of the other commands does not
// pay for them: the library for Parquet, and what it needs.
var exportModules = []string{"github.com/andybalholm/brotli", "github.com/google/uuid",
	"github.com/parquet-go/bitpack", "github.com/parquet-go/jsonlite", "github.com/parquet-go/parquet-go", "github.com/pierrec/lz4/v4",
	"github.com/twpayne/go-geom", "google.golang.org/protobuf"}

// A module, version or licence that is not listed is a failure: new dependencies are
// deliberate. So is network code, except in ptrace-export, whose modules bring it.
func TestModules(t *testing.T) {
	type module struct{ path, version, dir string }
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := []module{{"Go (runtime and standard library)", "", strings.TrimSpace(string(root))}}
	for _, l := range linkedOn() {
		c := l.command
		cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}} {{.Replace}} {{$.Dir}}{{end}}{{end}}{{else}}std {{.ImportPath}} {{.Dir}}{{end}}", "../../"+c.Name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+l.system) // as it is shipped
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(c.Name, err)
		}
		add := func(m module) {
			if !slices.Contains(modules, m) {
				modules = append(modules, m)
			}
		}
		// addOwn adds a package with a licence in its directory, or above that within its module, whose text
		// is not that of the module.
		addOwn := func(m module, dir string) {
			for ; dir != m.dir && strings.HasPrefix(dir, m.dir); dir = filepath.Dir(dir) {
				if len(licences(t, dir)) > 0 && licence(t, dir) != licence(t, m.dir) {
					add(module{m.path + filepath.ToSlash(strings.TrimPrefix(dir, m.dir)), m.version, dir})
				}
			}
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			switch {
			case len(f) == 0:
			case f[0] == "std":
				switch f[1] {
				case "net", "net/http", "crypto/tls":
					// ptrace-export sends to collectors; of x/sys/windows, types of net are a part.
					if c.Name != "ptrace-export" && (l.system != "windows" || f[1] != "net") {
						t.Errorf("%s links %s", c.Name, f[1])
					}
				case "runtime/cgo":
					if l.system == "linux" { // darwin has it as the way to the system
						t.Errorf("%s links %s", c.Name, f[1])
					}
				case "os/user", "plugin":
					t.Errorf("%s links %s", c.Name, f[1])
				}
				if f[1] != "crypto/internal/boring" { // its licence is that of an object file that no command has
					addOwn(modules[0], f[2])
				}
			case len(f) != 5 || f[3] != "<nil>":
				t.Errorf("%s links a module that is replaced: %s", c.Name, line)
			default:
				if c.Name != "ptrace-export" && slices.Contains(exportModules, f[0]) {
					t.Errorf("%s links %s", c.Name, f[0])
				}
				m := module{f[0], f[1], f[2]}
				add(m)
				addOwn(m, f[4])
			}
		}
	}
	modules = append(modules, module{"uPlot (in the reports that the commands write)", uPlotVersion(t), uPlotDir})
	slices.SortFunc(modules[1:], func(a, b module) int { return strings.Compare(a.path, b.path) })
	var list, texts bytes.Buffer
	for _, m := range modules {
		text := licence(t, m.dir)
		kind := licenceKind(text)
		if kind == "" {
			t.Errorf("%s: a licence of no known kind", m.path)
		}
		fmt.Fprintf(&list, "%-48s %-40s %s\n", m.path, m.version, kind)
		fmt.Fprintf(&texts, "\n%s\n%s\n\n%s", strings.Repeat("-", 78), strings.TrimSpace(m.path+" "+m.version), text)
	}
	var trimmed bytes.Buffer
	for line := range bytes.Lines(append(append([]byte(thirdPartyHead), list.Bytes()...), texts.Bytes()...)) {
		trimmed.Write(append(bytes.TrimRight(line, " \t\r\n"), '\n'))
	}
	if *update {
		if err := os.WriteFile(thirdParty, trimmed.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(thirdParty); err != nil || !bytes.Equal(want, trimmed.Bytes()) {
		t.Errorf("%s does not list what is linked (%v); it is now:\n%s", thirdParty, err, list.Bytes())
	}
}

// linkage is a command for a system.
type linkage struct {
	command *cli.Command
	system  string
}

// linkedOn returns the commands for each system.
func linkedOn() (list []linkage) {
	for _, c := range commands {
		list = append(list, linkage{c, "linux"})
		if slices.Contains(readers, c.Name) {
			for _, system := range []string{"darwin", "freebsd", "windows"} {
				list = append(list, linkage{c, system})
			}
		}
	}
	return list
}

// uPlot is a script that the commands hold as a file. A test in a browser compares it with its release.
var uPlotDir = filepath.Join("..", "format", "report", "page", "uplot")

func uPlotVersion(t *testing.T) string {
	text, err := os.ReadFile(filepath.Join(uPlotDir, "uPlot.iife.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`uPlot \((v[0-9.]+)\)`).FindSubmatch(text)
	if m == nil {
		t.Fatal("uPlot names no version")
	}
	return string(m[1])
}

// licence returns the licence in a directory, and the notices that it asks to pass on.
func licence(t *testing.T, dir string) (text string) {
	t.Helper()
	names := licences(t, dir)
	if len(names) == 0 || strings.HasPrefix(strings.ToUpper(names[0]), "NOTICE") {
		t.Errorf("%s: no licence", dir)
	}
	for i, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			text += "\n"
		}
		text += strings.TrimSpace(string(b)) + "\n"
	}
	return text
}

// licences returns the names of the files of licences in a directory, and of notices, which come last.
func licences(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`(?i)^(licen[sc]e|copying|unlicense)([-.](txt|md|mit|bsd|apache.*))?$`, `(?i)^notice([.](txt|md))?$`} {
		for _, e := range list {
			if e.Type().IsRegular() && regexp.MustCompile(pattern).MatchString(e.Name()) {
				names = append(names, e.Name())
			}
		}
	}
	return names
}

// licenceKind returns which accepted licence a text is, or "".
func licenceKind(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("GNU") && has("General Public License"):
		return ""
	case has("Apache License Version 2.0"):
		return "Apache-2.0"
	case has("Permission is hereby granted, free of charge") && has("without restriction"):
		return "MIT"
	case has("Redistribution and use in source and binary forms") && (has("Neither the name of") || has("names of its contributors may not")):
		return "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	case has("Permission to use, copy, modify, and/or distribute"), has("Permission to use, copy, modify, and distribute"):
		return "ISC"
	}
	return ""
}

// ptrace-event runs once for each event of a script. It links what it needs and no more: no
// output forms and no tables.
func TestEventPackages(t *testing.T) {
	want := []string{"cli", "event", "format/catalog", "format/escape", "format/redact", "format/sysevent", "procfs", "record/capture", "record/child", "record/destination", "record/spool", "record/streams", "record/tracecontext", "startup/idle", "startup/original", "startup/plain"}
	out, err := exec.Command("go", "list", "-deps", "../../ptrace-event").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for path := range strings.Lines(string(out)) {
		if _, room, ok := strings.Cut(strings.TrimSpace(path), "/cmd/internal/"); ok {
			got = append(got, room)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("ptrace-event links %q of cmd/internal, want %q", got, want)
	}
}
