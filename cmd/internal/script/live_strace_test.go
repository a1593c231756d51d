package script_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// While a program runs, ptrace-run --live shows the same calls as strace(1), in the same form: the
// parser of strace's output reads both. The data of reads and writes is cut and escaped alike.
func TestLiveLikeStrace(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "strace")
	sh := func(script string) []string { return []string{"sh", "-c", script} }
	data := rules{text: []string{"read", "write", "pread64"}}
	for _, tt := range []struct {
		name string
		rules
		argv []string
	}{
		{"nothing", data, []string{"true"}},
		{"long listing", data, []string{"ls", "-l", "/"}},
		{"awk", data, []string{"awk", "{ print NR, $0 }", "text"}},
		{"sed", data, []string{"sed", "s/o/\\n/", "text"}},
		{"grep", rules{}, []string{"grep", "-n", "t", "text", "Makefile", "nosuch"}},
		{"sort", data, []string{"sort", "-r", "text"}},
		{"wc", data, []string{"wc", "text", "Makefile"}},
		{"od", data, []string{"od", "-c", "text"}},
		{"diff", rules{}, []string{"diff", "text", "Makefile"}},
		{"dd", data, []string{"dd", "if=/dev/zero", "of=zeros", "bs=100", "count=50", "status=none"}},
		{"head", data, []string{"head", "-c", "10", "/dev/zero"}},
		{"tar", data, []string{"tar", "-cf", "/dev/null", "text", "Makefile"}},
		{"cp", data, []string{"cp", "text", "/dev/null"}},
		{"find", data, []string{"find", "/", "-maxdepth", "1", "-name", "text"}},
		{"bash", data, []string{"bash", "--norc", "-c", "for i in 1 2 3; do [ -e text ] && echo $i; done >out; rm out"}},
		{"signals", rules{}, sh("trap 'echo usr1' USR1; kill -USR1 $$; kill -TERM $$")},
		{"subshells", data, sh("(exit 3); (cd /; pwd); x=$(cat text); echo $x")},
		{"pipes", anyChild, sh("sort -r text | head -n 2 | wc -l; cat nosuch | cat; :")},
		{"make -j", anyJob, []string{"make", "-s", "-j4"}},
		{"python3", rules{}, []string{"python3", "-I", "-S", "script.py"}},
		{"threaded server", anyThread, []string{"python3", "-I", "-S", "server.py"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tracetest.NeedProgram(t, tt.argv[0])
			dir, env, argv := straceWork(t, tt.argv)
			traces := filepath.Join(t.TempDir(), "traces")
			if err := os.Mkdir(traces, 0o700); err != nil {
				t.Fatal(err)
			}
			want := tt.threads(t, straceCalls(t, dir, traces, env, argv))
			compareCalls(t, tt.threads(t, liveCalls(t, dir, traces, env, argv)), want)
		})
	}
}
