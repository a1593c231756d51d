package script_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// stable has what the last release promised, recorded: docs/stability.md. -update adds what is new,
// and removes nothing.
var stable = filepath.Join("..", "..", "..", "testdata", "stable")

// An option of the last release is still there, in its short and its long form, with or without an
// option-argument as before, and with the choices that it had.
func TestOptionsOnlyGrow(t *testing.T) {
	now := map[string]bool{}
	for _, c := range commands {
		for _, line := range promises(c) {
			now[line] = true
		}
	}
	file := filepath.Join(stable, "options.txt")
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	recorded := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	if missing := removed(recorded, now); len(missing) > 0 {
		t.Errorf("no longer promised, but in %s:\n%s", file, strings.Join(missing, "\n"))
	}
	if *update {
		for _, line := range recorded {
			now[line] = true
		}
		if err := os.WriteFile(file, []byte(strings.Join(slices.Sorted(maps.Keys(now)), "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(recorded) < 100 {
		t.Errorf("%s has %d lines", file, len(recorded))
	}
	// The comparison finds what is missing.
	for _, line := range []string{"ptrace-dump --json", "ptrace-dump -j"} {
		if !now[line] {
			t.Fatalf("no %q", line)
		}
		delete(now, line)
		if got := removed(recorded, now); len(got) != 1 || got[0] != line {
			t.Errorf("without %q: %q are missing", line, got)
		}
		now[line] = true
	}
}

func removed(recorded []string, now map[string]bool) []string {
	var missing []string
	for _, line := range recorded {
		if !now[line] {
			missing = append(missing, line)
		}
	}
	return missing
}

// promises returns what scripts may rely on in the options of a command, a line each.
func promises(c *cli.Command) []string {
	var lines []string
	for _, o := range c.AllOptions() {
		if o.Hidden {
			continue
		}
		arg := ""
		switch {
		case o.Optional:
			arg = "[ARG]"
		case o.Arg != "":
			arg = " ARG"
		}
		lines = append(lines, c.Name+" --"+o.Long+arg)
		if o.Short != 0 {
			lines = append(lines, c.Name+" -"+string(rune(o.Short))+arg)
		}
		for _, choice := range o.Choices {
			lines = append(lines, c.Name+" --"+o.Long+"="+choice)
		}
	}
	return lines
}

var schemas = []string{filepath.Join("ptrace-dump", "event.schema.json"), filepath.Join("ptrace-dump", "summary.schema.json"), filepath.Join("ptrace-dump", "why.schema.json"), filepath.Join("ptrace-dump", "files.schema.json"), filepath.Join("ptrace-diff", "diff.schema.json")}

// A member of the JSON of the last release is still there with its type, and one that was always
// there still is.
func TestSchemasOnlyGrow(t *testing.T) {
	for _, file := range schemas {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		old := filepath.Join(stable, filepath.Base(file))
		recorded, err := os.ReadFile(old)
		if err != nil && !*update {
			t.Fatal(err)
		}
		var was, is any
		if err := json.Unmarshal(text, &is); err != nil {
			t.Fatal(err)
		}
		if recorded != nil {
			if err := json.Unmarshal(recorded, &was); err != nil {
				t.Fatal(err)
			}
			if lost := shrunk("", was, is); len(lost) > 0 {
				t.Errorf("%s promises less than %s:\n%s", file, old, strings.Join(lost, "\n"))
				continue
			}
		}
		if *update {
			if err := os.WriteFile(old, text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// shrunk returns what a schema no longer promises. Words such as description and pattern promise
// nothing that it compares.
func shrunk(at string, was, is any) []string {
	var lost []string
	switch was := was.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			return []string{at + ": no object"}
		}
		for _, key := range slices.Sorted(maps.Keys(was)) {
			here := at + "/" + key
			switch key {
			case "title", "description", "$comment", "examples", "$id", "$schema", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems":
				continue
			}
			now, ok := is[key]
			if !ok {
				lost = append(lost, here+" is gone")
				continue
			}
			switch key {
			case "type", "required", "enum":
				lost = append(lost, fewer(here, was[key], now, key == "type")...)
			default:
				lost = append(lost, shrunk(here, was[key], now)...)
			}
		}
	case []any:
		is, ok := is.([]any)
		if !ok || len(is) < len(was) {
			return []string{at + ": fewer elements"}
		}
		for i := range was {
			lost = append(lost, shrunk(fmt.Sprintf("%s/%d", at, i), was[i], is[i])...)
		}
	default:
		if was != is {
			return []string{fmt.Sprintf("%s was %v and is %v", at, was, is)}
		}
	}
	return lost
}

// fewer compares lists of words: none may be gone, and of types none may be new.
func fewer(at string, was, is any, exact bool) []string {
	list := func(v any) map[string]bool {
		all, ok := v.([]any)
		if !ok {
			all = []any{v}
		}
		words := map[string]bool{}
		for _, e := range all {
			words[fmt.Sprint(e)] = true
		}
		return words
	}
	a, b := list(was), list(is)
	if exact && !maps.Equal(a, b) {
		return []string{fmt.Sprintf("%s was %v and is %v", at, was, is)}
	}
	var lost []string
	for _, word := range slices.Sorted(maps.Keys(a)) {
		if !b[word] {
			lost = append(lost, at+" lacks "+word)
		}
	}
	return lost
}

// The comparison of schemas finds each kind of loss, and no growth.
func TestShrunk(t *testing.T) {
	const was = `{"type": "object", "required": ["a"], "description": "x", "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}, "c": {"enum": ["x", "y"]}}, "allOf": [{"$ref": "#/$defs/d"}], "$defs": {"d": {"properties": {"e": {"const": 1}}}}}`
	for is, want := range map[string]string{
		was: "",
		strings.Replace(was, `"b": {`, `"new": {"type": "string"}, "b": {`, 1):       "",
		strings.Replace(was, `["a"]`, `["a", "b"]`, 1):                               "",
		strings.Replace(was, `["x", "y"]`, `["x", "z", "y"]`, 1):                     "",
		strings.Replace(was, `"description": "x"`, `"description": "new"`, 1):        "",
		strings.Replace(was, `"a": {"type": "integer"}, `, ``, 1):                    "/properties/a is gone",
		strings.Replace(was, `"integer"`, `"string"`, 1):                             "/properties/a/type was integer and is string",
		strings.Replace(was, `["string", "null"]`, `["string"]`, 1):                  "/properties/b/type was [string null] and is [string]",
		strings.Replace(was, `["string", "null"]`, `["string", "null", "array"]`, 1): "/properties/b/type was [string null] and is [string null array]",
		strings.Replace(was, `["a"]`, `[]`, 1):                                       "/required lacks a",
		strings.Replace(was, `["x", "y"]`, `["x"]`, 1):                               "/properties/c/enum lacks y",
		strings.Replace(was, `{"const": 1}`, `{"const": 2}`, 1):                      "/$defs/d/properties/e/const was 1 and is 2",
		strings.Replace(was, `[{"$ref": "#/$defs/d"}]`, `[]`, 1):                     "/allOf: fewer elements",
	} {
		var a, b any
		if err := json.Unmarshal([]byte(was), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(is), &b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(shrunk("", a, b), "\n"); got != want {
			t.Errorf("%s: %q, want %q", is, got, want)
		}
	}
}
