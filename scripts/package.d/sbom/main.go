// Command sbom writes the SBOM of binaries of Go as CycloneDX 1.6 in JSON, from the information that the
// linker left in them. With -validate it compares such a file with the schema of CycloneDX.
package main

import (
	"bytes"
	"debug/buildinfo"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const self = "github.com/posixtrace/posixtrace"

func main() {
	version := flag.String("version", "", "the version of the release")
	at := flag.Int64("time", 0, "the time of the commit")
	licences := flag.String("licences", "", "the file that lists modules, versions and licences")
	schemas := flag.String("validate", "", "the directory of CycloneDX's schemas; the operand is a file to validate")
	flag.Parse()
	var err error
	if *schemas != "" {
		err = validate(*schemas, flag.Arg(0))
	} else {
		err = write(*version, time.Unix(*at, 0), *licences, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// listed returns the licences of the modules in THIRD_PARTY_LICENSES, by path and version.
func listed(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "---") { // the texts follow
			break
		}
		if f := strings.Fields(line); len(f) == 3 && strings.HasPrefix(f[1], "v") {
			found[f[0]+"@"+f[1]] = f[2]
		}
	}
	return found, nil
}

func write(version string, at time.Time, licences string, binaries []string) error {
	known, err := listed(licences)
	if err != nil {
		return err
	}
	modules, goes := map[string]*debug.Module{}, map[string]bool{}
	for _, file := range binaries {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return err
		}
		if info.Main.Path != self {
			return fmt.Errorf("%s: not of %s", file, self)
		}
		goes[strings.TrimPrefix(info.GoVersion, "go")] = true
		for _, m := range info.Deps {
			if m.Replace != nil {
				return fmt.Errorf("%s: %s is replaced", file, m.Path)
			}
			modules[m.Path+"@"+m.Version] = m
		}
	}
	if len(modules) == 0 {
		return fmt.Errorf("no modules in %d binaries", len(binaries))
	}
	main := "pkg:golang/" + self + "@v" + version
	bom := cdx.NewBOM()
	bom.SpecVersion = cdx.SpecVersion1_6
	bom.Metadata = &cdx.Metadata{
		Timestamp: at.UTC().Format(time.RFC3339),
		Component: &cdx.Component{BOMRef: main, Type: cdx.ComponentTypeApplication, Name: "posixtrace", Version: version, PackageURL: main, Licenses: licence("Apache-2.0")},
	}
	var parts []cdx.Component
	var needs []string
	add := func(path, version, id string) *cdx.Component {
		ref := "pkg:golang/" + path + "@" + version
		parts = append(parts, cdx.Component{BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: ref, Licenses: licence(id)})
		needs = append(needs, ref)
		return &parts[len(parts)-1]
	}
	for _, v := range slices.Sorted(maps.Keys(goes)) {
		add("std", v, "BSD-3-Clause")
	}
	for _, key := range slices.Sorted(maps.Keys(modules)) {
		m := modules[key]
		if known[key] == "" {
			return fmt.Errorf("%s: %s is linked and not listed", licences, key)
		}
		// The checksum of go.sum is one of a list of files, which CycloneDX has no word for.
		add(m.Path, m.Version, known[key]).Properties = &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: main, Dependencies: &needs}}
	e := cdx.NewBOMEncoder(os.Stdout, cdx.BOMFileFormatJSON)
	return e.SetPretty(true).Encode(bom)
}

func licence(id string) *cdx.Licenses {
	return &cdx.Licenses{{License: &cdx.License{ID: id}}}
}

func validate(dir, file string) error {
	c := jsonschema.NewCompiler()
	const base = "http://cyclonedx.org/schema/"
	for url, name := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := c.AddResource(base+url, doc); err != nil {
			return err
		}
	}
	schema, err := c.Compile(base + "bom-1.6.schema.json")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}
