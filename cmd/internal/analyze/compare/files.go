package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/files"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Plain reports whether only the count of the events of a type matters.
func Plain(id posixtrace.EventID, name string) bool {
	return analysis.Plain(id, name) && id != posixtrace.EventFileAccess
}

// addFiles adds the accesses to files among some events.
func (b *Builder) addFiles(recs []posixtrace.Record) {
	for i := range recs {
		if recs[i].ID != posixtrace.EventFileAccess {
			continue
		}
		if b.files == nil {
			b.files = files.New()
			b.used = b.files.NewSource(b.name)
		}
		b.used.Add(recs[i : i+1])
	}
}

// usedFiles returns which files the run read and wrote, by their paths without what differs from run to run.
func (b *Builder) usedFiles(pids map[int32]bool) map[string]files.Use {
	if b.files == nil {
		return nil
	}
	used := map[string]files.Use{}
	for path, use := range b.files.Used() {
		used[mask(path, pids)] |= use
	}
	return used
}

// maxFiles bounds the files that are reported.
const maxFiles = 1 << 14

// findFiles finds the files that all runs of one side read or write, and none of the other.
func (c *comparison) findFiles() {
	if !c.both(func(r *Run) bool { return r.files != nil }) {
		return
	}
	var some, every [2]map[string]files.Use
	for side, runs := range c.sides {
		some[side], every[side] = map[string]files.Use{}, map[string]files.Use{}
		for i, r := range runs {
			for path, use := range r.files {
				some[side][path] |= use
				if i == 0 {
					every[side][path] = use
				}
			}
			for path, use := range every[side] {
				every[side][path] = use & r.files[path]
			}
		}
	}
	found := 0
	for side, how := range []How{Old: Gone, New: Added} {
		c.Compared += len(some[side])
		for _, path := range slices.Sorted(maps.Keys(every[side])) {
			only := every[side][path] &^ some[1-side][path]
			if only == 0 {
				continue
			}
			if found++; found > maxFiles {
				continue
			}
			c.Differences = append(c.Differences, &Difference{What: File, How: how, Name: path, Use: useWords(only), Status: -1})
		}
	}
	c.manyFiles = max(found-maxFiles, 0)
}

// useWords returns what was done with a file.
func useWords(u files.Use) string {
	var words []string
	if u&files.Read != 0 {
		words = append(words, "read")
	}
	if u&files.Written != 0 {
		words = append(words, "written")
	}
	return strings.Join(words, " and ")
}
