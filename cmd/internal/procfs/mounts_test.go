//go:build linux

package procfs

import (
	"slices"
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

// The file systems that another process or machine serves: "fusectl" is one of the kernel's own, which most
// machines have.
func TestServed(t *testing.T) {
	const local = "21 26 0:20 / /sys rw,nosuid - sysfs sysfs rw\n29 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n30 21 0:9 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n"
	for text, want := range map[string]bool{
		local: false,
		local + "40 29 0:44 / /run/user/0/doc rw - fuse.portal portal rw\n":     true,
		local + "40 29 0:44 / /mnt rw - fuse dead rw\n":                         true,
		local + "41 29 0:45 / /mnt rw - nfs4 host:/x rw\n":                      true,
		local + "41 29 0:45 / /mnt rw - virtiofs share rw\n":                    true,
		local + "42 29 8:1 / /mnt/a\\040-\\040fuse rw - fuseblk /dev/sda1 rw\n": true,
		local + "43 29 8:1 / /mnt/nfs rw - overlay fuse.x rw\n":                 false,
	} {
		if got := slices.ContainsFunc(parseMounts(text), Mount.Served); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
