package stream

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxGlossary is how many words of its own the project may have. A word of the standard or of the field
// needs no entry.
const maxGlossary = 25

// TestGlossary compares the glossary in doc.go with the sources: it is short, in order, and each of its words
// is in use, as a part of an identifier or in the description of the protocol.
func TestGlossary(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, glossary, ok := strings.Cut(string(text), "\n// # Glossary\n")
	if !ok {
		t.Fatal("doc.go has no glossary")
	}
	glossary, _, _ = strings.Cut(glossary, "\npackage ")
	var entries []string
	for _, m := range regexp.MustCompile(`(?m)^//\t(\S+(?: \S+)*)  +\S`).FindAllStringSubmatch(glossary, -1) {
		entries = append(entries, m[1])
	}
	if len(entries) == 0 || len(entries) > maxGlossary {
		t.Errorf("the glossary has %d entries, want 1 to %d", len(entries), maxGlossary)
	}
	if !slices.IsSorted(entries) {
		t.Errorf("the glossary is not in order: %q", entries)
	}
	used := wordsOfIdentifiers(t, "../..", "../../../../cmd/internal")
	protocol, err := os.ReadFile("protocol.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range regexp.MustCompile(`[a-z]+`).FindAllString(strings.ToLower(string(protocol)), -1) {
		used[w] = true
	}
	for _, e := range entries {
		for w := range strings.FieldsSeq(e) {
			if !used[w] && !used[w+"s"] {
				t.Errorf("no identifier has %q, of the entry %q", w, e)
			}
		}
	}
}

// wordsOfIdentifiers returns the words of all identifiers in Go files, without tests, in lower case.
func wordsOfIdentifiers(t *testing.T, roots ...string) map[string]bool {
	used := make(map[string]bool)
	word := regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	read := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(path, -1, len(src)), src, nil, 0)
		for {
			_, tok, lit := s.Scan()
			if tok == token.EOF {
				return nil
			}
			if tok == token.IDENT {
				for _, w := range word.FindAllString(lit, -1) {
					used[strings.ToLower(w)] = true
				}
			}
		}
	}
	for _, root := range roots {
		if err := filepath.WalkDir(root, read); err != nil {
			t.Fatal(err)
		}
	}
	return used
}
