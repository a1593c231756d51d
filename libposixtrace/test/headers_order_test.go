package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// A header includes headers on lines below it in the list of README.md, which has all.
func TestHeadersInOrder(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(ctest.Source, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.SplitN(string(text), "```", 3)
	if len(blocks) < 3 {
		t.Fatal("README.md has no list of headers")
	}
	place := map[string]int{}
	for i, name := range regexp.MustCompile(`\w+\.h\b`).FindAllString(blocks[1], -1) {
		place[name] = i + 1
	}
	headers, err := filepath.Glob(filepath.Join(ctest.Source, "*.h"))
	if err != nil || len(headers) == 0 {
		t.Fatal("no headers: ", err)
	}
	include := regexp.MustCompile(`(?m)^#include "(\w+\.h)"`)
	for _, path := range headers {
		name := filepath.Base(path)
		if place[name] == 0 {
			t.Errorf("README.md does not list %s", name)
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range include.FindAllStringSubmatch(string(text), -1) {
			if at := place[m[1]]; at != 0 && at <= place[name] {
				t.Errorf("%s includes %s, which is above it", name, m[1])
			}
		}
	}
}
