package script_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// example is one example of a page's EXAMPLES.
type example struct {
	line   int
	script string
	files  map[string]string // what the page shows by cat
}

// readExamples extracts the examples of a page: consecutive displayed lines, or a literal
// display. In a display with prompts, the commands follow the prompts, and the output of
// `cat FILE` is the file.
func readExamples(page string) (list []example) {
	inside, display, following := false, false, false
	var block []string
	begin := 0
	end := func(lines []string) {
		e := example{line: begin, files: map[string]string{}}
		into := ""
		prompts := strings.HasPrefix(lines[0], "$ ")
		for _, l := range lines {
			command, is := strings.CutPrefix(l, "$ ")
			switch name, cat := strings.CutPrefix(command, "cat "); {
			case !prompts:
				e.script += l + "\n"
			case is && cat:
				into = name
			case is:
				e.script += command + "\n"
				into = ""
			case into != "":
				e.files[into] += l + "\n"
			}
		}
		list = append(list, e)
	}
	for i, l := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(l, ".Sh "):
			inside = l == ".Sh EXAMPLES"
		case !inside:
		case strings.HasPrefix(l, ".Bd -literal"):
			display, begin, block = true, i+1, nil
		case l == ".Ed":
			display = false
			end(block)
		case display:
			block = append(block, unescape(l))
		case strings.HasPrefix(l, ".Dl "):
			l = unescape(strings.TrimPrefix(l, ".Dl "))
			if following {
				list[len(list)-1].script += l + "\n"
			} else {
				begin = i + 1
				end([]string{l})
			}
			following = true
			continue
		}
		following = false
	}
	return list
}

func unescape(s string) string {
	return strings.NewReplacer(`\(dq`, `"`, `\e`, `\`, `\&`, "", `\-`, "-").Replace(s)
}

// examplesWorld provides what the examples assume: a project with a build, a server, a
// deployment script, a log of a build and an active stream ci. $PID is a running process.
const examplesWorld = `
mkdir bin build
cat >bin/make <<'END'
#!/bin/sh
ptrace-event -r compile echo cc -c main.c
echo >config.h
cat config.h
echo made >&2
END
cat >bin/clang-tidy <<'END'
#!/bin/sh
echo checked
END
cat >bin/some-server <<'END'
#!/bin/sh
echo listening
echo warning >&2
END
cat >bin/rsync <<'END'
#!/bin/sh
cp -r build "$2".copy 2>/dev/null || :
END
cat >bin/cc <<'END'
#!/bin/sh
case $1 in
-c) : >"${2%.c}.o" ;;
*) : >"$2" ;;
esac
END
: >main.c
: >other.c
printf '#!/bin/sh\nptrace-event work\n' >job
printf '#!/bin/sh\nptrace-event tested\n' >test
printf ':\ntrue\nptrace-event step\n' >ci.sh
chmod +x bin/* job test
ptrace-run -c -o build.trace -- make >/dev/null 2>&1
cp build.trace run.trace
ptrace-event -S ci server.ready
ptrace-event -S ci http.get
`

// untilAttached makes a shell interrupt ptrace-run -p when that has attached.
const untilAttached = ` &
until grep -q '^TracerPid:.[1-9]' "/proc/$PID/status"; do sleep 0.1; done
kill -INT $!
wait $!
`

// shown has a part of the output of each example. All examples must succeed.
var shown = []struct{ piece, want string }{
	{"ptrace-dump -s build.trace", `(?m)^compile +1 `},
	{"ptrace-dump -f -w server.ready", `server.ready`},
	{"jq -r .event", `(?m)^compile.begin$`},
	{"--annotate=delta", `cc -c main.c`},
	{"ptrace-dump --cursor", `(?m) server.ready$`},
	{"ptrace-dump --peek --last=100 recorder", `posix_trace_start`},
	{"eval \"$(ptrace-create --export -s ci)\"", `"event":"deploy.start"`},
	{"ptrace-dump deploy.trace", `deploy.start "rev=4711"`},
	{"some-server 2>&1", `(?m)^listening\nwarning$`},
	{"od -A d -t x1z", `93 50 54 4c 4f 47 0d 0a 01 00 00 00 04 03 02 01`},
}

// done has a shell condition that must hold after an example.
var done = []struct{ piece, holds string }{
	{"./job; wait $!", "grep -q work trace.json"},
	{"sh build.sh", "test $(ptrace-dump -e compile build.trace | wc -l) = 2 && ptrace-dump -s build.trace | grep -q '^link  *1 ' && ptrace-dump -e step.begin ci.trace | grep -q 'ci.sh:2 true'"},
	{"-i run.trace -o run.trace", "ptrace-dump -e 'output.*' run.trace | cmp - /dev/null"},
	{"ptrace-filter -S ci -x 'http.*' -d http.error", "ptrace-event -S ci http.put; ptrace-event -S ci http.error; ptrace-filter -S ci | grep -qx http.put && ptrace-dump ci | grep -q http.error"},
	{"ptrace-ctl stop ci", "ptrace-ctl status ci | grep -q 'stream-status *running' && ptrace-filter -S ci | grep -qx http.get"},
	{"-o server.trace server", "ptrace-ctl shutdown server && ptrace-dump --check server.trace"},
	{"ptrace-ctl shutdown recorder", "! ptrace-ctl status recorder 2>/dev/null"},
}

// Every example of every page of commands and formats works, in a directory of its own.
func TestExamples(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "..", "man", "*.[157]"))
	if err != nil || len(pages) < 8 {
		t.Fatal(pages, err)
	}
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list := readExamples(string(page))
		if len(list) == 0 {
			t.Errorf("%s has no examples", path)
		}
		for _, e := range list {
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(path), e.line), func(t *testing.T) {
				t.Parallel()
				e.run(t)
			})
		}
	}
}

func (e *example) run(t *testing.T) {
	dir := t.TempDir()
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "HOME="+dir,
		"PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "SHA=0123abc", "REV=4711")
	shell := func(name, script string) ([]byte, error) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		sh := "sh"
		if strings.Contains(script, ">(") || strings.Contains(script, "--shell=bash") {
			sh = "bash"
		}
		cmd := exec.CommandContext(ctx, sh, "-e", name)
		cmd.Dir, cmd.Env = dir, env
		cmd.WaitDelay = 5 * time.Second
		return cmd.CombinedOutput()
	}
	traced := exec.CommandContext(ctx, "cat") // until its input ends
	in, err := traced.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := traced.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		traced.Wait()
		shell("left", "ptrace-ctl list -q | xargs -r ptrace-ctl shutdown -f")
		os.RemoveAll(traces)
	}()
	env = append(env, "PID="+strconv.Itoa(traced.Process.Pid))
	world := examplesWorld
	if !strings.Contains(e.script, "--export -s ci") {
		world = `ptrace-create -s -p "$PID" ci` + world
	} else {
		world = strings.NewReplacer("ptrace-event -S ci", ":").Replace(world)
	}
	if out, err := shell("world", world); err != nil {
		t.Fatalf("the world: %v\n%s", err, out)
	}
	for name, text := range e.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := e.script
	if strings.HasPrefix(script, "ptrace-run -y -p") {
		script = strings.TrimSpace(script) + untilAttached
	}
	out, err := shell("example", script)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, e.script, out)
	}
	for _, s := range shown {
		if strings.Contains(e.script, s.piece) && !regexp.MustCompile(s.want).Match(out) {
			t.Errorf("%s\nprints\n%s\nand not %s", e.script, out, s.want)
		}
	}
	for _, d := range done {
		if !strings.Contains(e.script, d.piece) {
			continue
		}
		if out, err := shell("done", d.holds); err != nil {
			t.Errorf("after %s\n%s: %v\n%s", e.script, d.holds, err, out)
		}
	}
	if bytes.Contains(out, []byte("not found")) || bytes.Contains(out, []byte("usage")) {
		t.Errorf("%s\nprints\n%s", e.script, out)
	}
}
