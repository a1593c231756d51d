//go:build linux

package procfs

import (
	"strings"
	"testing"
)

// A path is on the mount with the longest place that it is below, the last one of several there.
func TestMountOf(t *testing.T) {
	list := parseMounts(`27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:39 / /mnt/a\040b rw shared:1 master:2 - fuse.sshfs host:/x\134y rw
41 27 0:40 / /mnt/a rw - nfs4 filer:/export rw
42 41 0:41 / /mnt/a rw - tmpfs tmpfs rw
43 27 0:42 / /mnt/none - proc
44 27 0:43 /
- - - -

` + strings.Repeat("x ", 1000))
	if len(list) != 4 {
		t.Errorf("%d mounts: %+v", len(list), list)
	}
	for path, want := range map[string]string{
		"/":             "/ (ext4 of /dev/vda)",
		"/mnt/ab":       "/ (ext4 of /dev/vda)",
		"/mnt/a b/file": `/mnt/a b (fuse.sshfs of host:/x\y)`,
		"/mnt/a":        "/mnt/a (tmpfs)",
		"/mnt/a/x":      "/mnt/a (tmpfs)",
		"/mnt/none/x":   "/ (ext4 of /dev/vda)",
	} {
		m, ok := MountOf(list, path)
		if !ok || m.String() != want {
			t.Errorf("MountOf(%s) = %s, %v, want %s", path, m, ok, want)
		}
		if m.Served() != strings.Contains(want, "sshfs") {
			t.Errorf("Served of %s: %v", m, m.Served())
		}
	}
	if m, ok := MountOf(nil, "/"); ok {
		t.Errorf("%+v", m)
	}
}
