package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	build := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	clean := debug.BuildSetting{Key: "vcs.modified", Value: "false"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, tt := range []struct {
		name, version, revision string
		info                    *debug.BuildInfo
	}{
		{"no build information", defaultVersion, "", nil},
		{"go build of an archive", defaultVersion, "", build("(devel)")},
		{"go install @v1.2.3", "1.2.3", "", build("v1.2.3")},
		{"go install @v1.2.3-rc.1", "1.2.3-rc.1", "", build("v1.2.3-rc.1")},
		{"go install @REVISION", defaultVersion, "0123456789ab", build("v0.0.0-20261120101200-0123456789ab")},
		{"go install @REVISION after a release", "1.2.4-0.20261120101200-0123456789ab", "0123456789ab", build("v1.2.4-0.20261120101200-0123456789ab")},
		{"repository, tagged", "1.2.3", "0123456789ab", build("v1.2.3", revision, clean)},
		{"repository, tagged, changed", "1.2.3", "0123456789ab, modified", build("v1.2.3+dirty", revision, dirty)},
		{"repository, no tag", defaultVersion, "0123456789ab", build("v0.0.0-20261120101200-0123456789ab", revision, clean)},
		{"repository, no tag, changed", defaultVersion, "0123456789ab, modified", build("v0.0.0-20261120101200-0123456789ab+dirty", revision, dirty)},
		{"go build -buildvcs=true of old", defaultVersion, "0123456789ab", build("(devel)", revision, clean)},
	} {
		if v, r := version(tt.info); v != tt.version || r != tt.revision {
			t.Errorf("%s: version %q, revision %q; want %q, %q", tt.name, v, r, tt.version, tt.revision)
		}
	}
	release, commit = "2.0.0", "abcdef012345"
	defer func() { release, commit = "", "" }()
	if v, r := version(build("v0.0.0-20261120101200-0123456789ab", revision, clean)); v != release || r != commit {
		t.Errorf("a package: version %q, revision %q", v, r)
	}
}
