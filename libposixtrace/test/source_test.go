package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// sources returns the text of each file of the library, without comments, strings and directives.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"*.c", "*.h"} {
		paths, err := filepath.Glob(filepath.Join(ctest.Source, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(path)] = bare(string(text))
		}
	}
	if len(files) < 50 {
		t.Fatalf("%s has %d files of C", ctest.Source, len(files))
	}
	return files
}

var notCode = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?m:^[ \t]*#(?:\\\n|[^\n])*$)`)

// bare removes comments, strings and directives. Lines keep their numbers.
func bare(text string) string {
	return notCode.ReplaceAllStringFunc(text, func(s string) string {
		return " " + strings.Repeat("\n", strings.Count(s, "\n"))
	})
}

// An item is a definition or declaration at file scope: its text before the first brace, and within.
type item struct{ head, body string }

func items(text string) []item {
	var all []item
	depth, start, open := 0, 0, -1
	for i, c := range text {
		switch c {
		case '{':
			if depth == 0 && open < 0 {
				open = i
			}
			depth++
		case '}':
			depth--
			head := ""
			if open >= 0 {
				head = strings.TrimSpace(text[start:open])
			}
			if depth == 0 && isFunction(head) {
				all = append(all, item{head, text[open : i+1]})
				start, open = i+1, -1
			}
		case ';':
			if depth == 0 {
				it := item{head: text[start:i]}
				if open >= 0 {
					it = item{text[start:open], text[open:i]}
				}
				all = append(all, it)
				start, open = i+1, -1
			}
		}
	}
	return all
}

func isFunction(head string) bool {
	return strings.HasSuffix(head, ")") && !strings.Contains(head, "=")
}

var functionName = regexp.MustCompile(`\b(pxt_\w+)\s*\(`)

// functions returns the names of the functions of the library that a file defines.
func functions(text string) []string {
	var names []string
	for _, it := range items(text) {
		if it.body == "" || !isFunction(strings.TrimSpace(it.head)) {
			continue
		}
		if m := functionName.FindStringSubmatch(it.head); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}

var variable = regexp.MustCompile(`\b(pxt_\w+)(?:\s*\[[^]]*\])*(?:\s*(?:=.*|PXT_TLS|__attribute__\(.*))?\s*$`)

var notVariable = regexp.MustCompile(`^(?:extern|typedef)\b|^(?:struct|union|enum)\s+\w+$`)

// variables returns the names of the variables of the library that a file defines.
func variables(text string) []string {
	var names []string
	for _, it := range items(text) {
		head := strings.TrimSpace(it.head)
		if it.body != "" && !strings.Contains(head, "=") || notVariable.MatchString(head) || functionName.MatchString(head) {
			continue
		}
		if m := variable.FindStringSubmatch(head); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}
