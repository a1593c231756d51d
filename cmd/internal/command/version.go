package command

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

const defaultVersion = "0.1.0-dev"

// version returns the version of the build: that of the module if it was built
// as a release, and the revision it was built from if that is known.
func version() (version, revision string) {
	version = defaultVersion
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, ""
	}
	if v, ok := strings.CutPrefix(info.Main.Version, "v"); ok && !strings.HasPrefix(v, "0.0.0-") && !strings.Contains(v, "+") {
		version = v
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
	if revision != "" {
		revision += dirty
	}
	return version, revision
}

func printVersion(w io.Writer, prog string) error {
	v, rev := version()
	text := fmt.Sprintf("%s (posixtrace) %s\n", prog, v)
	if rev != "" {
		text += "revision " + rev + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
