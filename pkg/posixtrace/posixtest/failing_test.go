package posixtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each way in which a test fails says what was expected, and shows the last events.
func TestFailures(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "failing.test")
	if out, err := exec.Command("go", "test", "-c", "-o", exe, "./testdata/failing").CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	dir := t.TempDir()
	run := func(data string, args ...string) (map[string]string, bool) {
		cmd := exec.Command(exe, append(args, "-test.v")...)
		cmd.Env = append(os.Environ(), "FAILING_DIR="+dir, "FAILING_DATA="+data)
		out, err := cmd.CombinedOutput()
		t.Logf("%v: %v\n%.4000s", args, err, out)
		return sections(string(out)), err == nil
	}
	got, ok := run("x")
	if ok {
		t.Error("the tests have passed")
	}
	for test, want := range map[string][]string{
		"TestWait": {
			`posixtest: 0 events "server.ready" within 1ms, want 1: context deadline exceeded`,
			`posixtest: the last 1 of 1 events:`, ` server.start "port 80"`,
		},
		"TestWaitCount":     {`posixtest: 3 events "a ?" within 1ms, want 4: context deadline exceeded`},
		"TestCount":         {`posixtest: 1 events "query select*", want 2`, ` query "update x"`},
		"TestOrder":         {`posixtest: no event "open" after close`, `posixtest: no event "missing" at all`},
		"TestAtMost":        {`posixtest: 2 events "retry", want at most 1`, `posixtest: 1 events "retry 2", want none; the first is retry "2"`},
		"TestBefore":        {`posixtest: event write does not come before lock`, `posixtest: event lock does not come before lock`, `posixtest: no event "unlock" at all`},
		"TestGolden":        {`new/x.golden does not exist; go test -posixtest.update writes it`, ` first`},
		"TestLost":          {`events were lost`, `the last 50 of `},
		"TestLast":          {`for another reason`, `the last 50 of 60 events:`, ` step "10"`, ` step "59"`},
		"TestParallel/bad":  {`0 events "work.begin good", want 1`, ` work.begin "bad"`},
		"TestParallel/good": nil,
		"TestPassing":       nil,
	} {
		text, failed := got["--- FAIL: "+test]
		if failed != (want != nil) {
			t.Errorf("%s: failed %v", test, failed)
		}
		if failed && !strings.Contains(text, "failing_test.go:") {
			t.Errorf("%s does not name its line:\n%s", test, text)
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s does not print %q:\n%s", test, w, text)
			}
		}
		if strings.Contains(text, "returned") || strings.Contains(text, "not shown") || strings.Contains(text, `step "9"`) {
			t.Errorf("%s:\n%s", test, text)
		}
	}

	for _, flag := range []string{"-update", "-posixtest.update"} {
		os.RemoveAll(filepath.Join(dir, "new"))
		if _, ok := run("x", "-test.run=TestGolden", flag); !ok {
			t.Errorf("%s: failed", flag)
		}
		b, err := os.ReadFile(filepath.Join(dir, "new", "x.golden"))
		if err != nil || string(b) != "first\nsecond \"x @mask\"\nthird\n" {
			t.Errorf("%s wrote %q, %v", flag, b, err)
		}
		if _, ok := run("x", "-test.run=TestGolden"); !ok {
			t.Errorf("%s: the test does not accept what it wrote", flag)
		}
	}
	got, ok = run("y", "-test.run=TestGolden")
	if want := "line 2:\n         first\n        -second \"x @mask\"\n        +second \"y @mask\"\n"; ok || !strings.Contains(got["--- FAIL: TestGolden"], want) {
		t.Errorf("other events: %v, %q", ok, got)
	}
}

var result = regexp.MustCompile(`(?m)^ *(--- (?:FAIL|PASS): \S+)|^=== (?:RUN|NAME|CONT) +(\S+)\n`)

// sections returns what go test -v has printed of each test, by "--- FAIL: NAME" or "--- PASS: NAME".
func sections(out string) map[string]string {
	text, of := map[string]string{}, map[string]string{}
	test := ""
	for line := range strings.Lines(out) {
		switch m := result.FindStringSubmatch(line); {
		case m == nil:
			text[test] += line
		case m[2] != "":
			test = m[2]
		default:
			_, name, _ := strings.Cut(m[1], ": ")
			of[m[1]] = name
		}
	}
	for verdict, name := range of {
		of[verdict] = text[name]
	}
	return of
}
