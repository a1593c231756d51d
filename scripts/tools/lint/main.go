// Lint runs the linters of .golangci.yml that go vet and staticcheck do not have, on the packages
// of the module in the current directory. It needs seconds to build, golangci-lint minutes.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/OpenPeeDeeP/depguard/v2"
	"github.com/breml/bidichk/pkg/bidichk"
	"github.com/charithe/durationcheck"
	"github.com/curioswitch/go-reassign"
	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
)

const config = ".golangci.yml"

// analyzers are the linters by the name they have in the configuration. Lint runs those
// that the configuration enables.
var analyzers = map[string]*analysis.Analyzer{
	"bidichk":       bidichk.NewAnalyzer(),
	"durationcheck": durationcheck.Analyzer,
	"ineffassign":   ineffassign.Analyzer,
	"reassign":      reassign.NewAnalyzer(),
}

// elsewhere are the linters that scripts/check runs by other programs, and nolintlint, which
// checks comments to golangci-lint only.
var elsewhere = map[string]bool{"govet": true, "staticcheck": true, "unused": true, "nolintlint": true}

// settings is the part of the configuration that lint reads.
type settings struct {
	Linters struct {
		Enable   []string
		Settings struct {
			Depguard struct {
				Rules map[string]struct {
					Files []string
					Deny  []struct{ Pkg, Desc string }
				}
			}
		}
	}
}

func main() {
	list, err := enabled()
	if err != nil {
		fmt.Fprintf(os.Stderr, "lint: %s: %v\n", config, err)
		os.Exit(1)
	}
	for _, a := range list {
		inSource(a)
	}
	multichecker.Main(list...)
}

// inSource keeps a from reporting anything in the main package that go generates for a test
// binary.
func inSource(a *analysis.Analyzer) {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		report := pass.Report
		pass.Report = func(d analysis.Diagnostic) {
			if strings.HasSuffix(pass.Fset.Position(d.Pos).Filename, ".go") {
				report(d)
			}
		}
		return run(pass)
	}
}

// enabled returns the linters that the configuration enables.
func enabled() (list []*analysis.Analyzer, err error) {
	b, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	var s settings
	if err := yaml.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	rules := depguard.LinterSettings{}
	for name, r := range s.Linters.Settings.Depguard.Rules {
		deny := map[string]string{}
		for _, d := range r.Deny {
			deny[d.Pkg] = d.Desc
		}
		rules[name] = &depguard.List{Files: r.Files, Deny: deny}
	}
	if analyzers["depguard"], err = depguard.NewAnalyzer(&rules); err != nil {
		return nil, err
	}
	for _, name := range s.Linters.Enable {
		switch a := analyzers[name]; {
		case a != nil:
			list = append(list, a)
		case !elsewhere[name]:
			return nil, fmt.Errorf("lint does not have linter %s", name)
		}
	}
	return list, nil
}
