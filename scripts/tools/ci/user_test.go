package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// As set-user-ID root and by the name sudo, the test's program is the sudo of a user that needs
// no password.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "sudo" {
		if os.Geteuid() != 0 || len(os.Args) < 3 || syscall.Setuid(0) != nil || syscall.Setgid(0) != nil {
			os.Stderr.WriteString("sudo: no privilege\n")
			os.Exit(1)
		}
		argv := os.Args[2:] // behind -n
		path, err := exec.LookPath(argv[0])
		if err != nil {
			os.Exit(127)
		}
		syscall.Exec(path, argv, os.Environ())
		os.Exit(126)
	}
	var err error
	if shared, err = os.MkdirTemp("", "posixtrace-action-"); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(shared)
	os.Exit(status)
}

// shared is a directory that all tests share.
var shared string

// copyFile copies a program.
func copyFile(t *testing.T, to, from, mode string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	program(t, to, in, mode)
}

// A user that is not root keeps the privilege of sudo in a recorded step. Processes are recorded if
// that works, by a copy of ptrace-run that may trace everything.
func TestSudo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("needs root: run it with sudo")
	}
	const user = 65534
	dir, err := os.MkdirTemp("", "posixtrace-action-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, filepath.Join(dir, "sudo"), "/proc/self/exe", "4755")
	tools := filepath.Join(dir, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"ptrace-run", "ptrace-dump", "ptrace-diff", "ptrace-event"} {
		from, err := exec.LookPath(c)
		if err != nil {
			t.Fatal(err)
		}
		copyFile(t, filepath.Join(tools, c), from, "755")
	}
	// A go that builds at once: it copies. Like go, it makes the directory.
	script := "#!/bin/sh\nwhile [ $# -gt 0 ] && [ \"$1\" != -o ]; do shift; done\nmkdir -p \"$2\" && cp " + tools + "/* \"$2\"\n"
	program(t, filepath.Join(dir, "go"), strings.NewReader(script), "755")
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	action := filepath.Join(dir, "action", "examples")
	if out, err := exec.Command("sh", "-c", `mkdir -p "$2" && cp -r "$1/examples/ci" "$2" && chmod -R a+rX "$2"`, "sh", root, action).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	run := func(path string, processes string) *job {
		j := push("echo $(id -u) $(sudo -n id -u)")
		j.user, j.env = user, []string{"PATH=" + path + ":/usr/bin:/bin:/usr/sbin:/sbin", "GITHUB_ACTION_PATH=" + filepath.Dir(action)}
		j.inputs["processes"] = processes
		return newGitHub(t).run(j)
	}
	if j := run(dir, "auto"); j.stdout != "65534 0\n" || j.stderr != "" || !strings.Contains(j.summary, "#### Programs") {
		t.Errorf("with its own copy: %q %q %s", j.stdout, j.stderr, j.summary)
	}
	// An installed ptrace-run has no such right.
	if j := run(tools+":"+dir, "auto"); j.stdout != "65534 0\n" || j.stderr != "" || strings.Contains(j.summary, "#### Programs") || j.summary == "" {
		t.Errorf("installed: %q %q %s", j.stdout, j.stderr, j.summary)
	}
	if err := os.Remove(filepath.Join(dir, "sudo")); err != nil {
		t.Fatal(err)
	}
	if j := run(dir, "auto"); strings.Contains(j.summary, "#### Programs") || j.summary == "" {
		t.Errorf("without sudo: %q %s", j.stderr, j.summary)
	}
	if j := run(dir, "yes"); !strings.Contains(j.summary, "#### Programs") {
		t.Errorf("processes: yes: %q %s", j.stderr, j.summary)
	}
}
