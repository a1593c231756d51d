package cli

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// defaultVersion is the version of a build without a tag or a repository.
const defaultVersion = "0.1.0-dev"

// release and commit are the version that scripts/package builds and its commit, set by the linker,
// or "". The go command knows no revision in a work tree of git worktree.
var release, commit string

// Version returns the version of this build.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	v, _ := version(info)
	return v
}

// version returns the module version of the build, and the revision it was built from if
// known.
func version(info *debug.BuildInfo) (version, revision string) {
	version = defaultVersion
	if info == nil {
		info = &debug.BuildInfo{}
	}
	dirty := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = ", modified"
			}
		}
	}
	if v, ok := strings.CutPrefix(info.Main.Version, "v"); ok {
		v, _, _ = strings.Cut(v, "+") // the revision reports +dirty
		// Without a tag the go command makes a version from the time and the revision.
		if !strings.HasPrefix(v, "0.0.0-") {
			version = v
		}
		if i := strings.LastIndexByte(v, '-'); i > 14 && len(v)-i-1 == 12 && revision == "" {
			if _, err := ParseDigits(v[i-14 : i]); err == nil {
				revision = v[i+1:]
			}
		}
	}
	if revision != "" {
		revision += dirty
	}
	if release != "" {
		version, revision = release, commit
	}
	return version, revision
}

func printVersion(w io.Writer, prog string) error {
	info, _ := debug.ReadBuildInfo()
	v, rev := version(info)
	text := fmt.Sprintf("%s (posixtrace) %s\n", prog, v)
	if rev != "" {
		text += "revision " + rev + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
