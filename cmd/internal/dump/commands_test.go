//go:build linux

package dump

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// words are texts to which a shell gives a meaning somewhere.
var words = []string{"", "-", "--", "-n", "-e", "~", "~root", "~+", "=", "=ls", "a=b", "!", "!!", "!$", "!-1", "^a^b", "if", "then", "done", "{", "}", "[[", "time", "function", "coproc",
	"#", "#x", "$x", "${x}", "$(id)", "`id`", "$'x'", "\\", "\\\\", "\\n", "\\c", "'", "''", "'\\''", "\"", "*", "?", "[a]", "{a,b}", "{1..3}", ">", "<", ">&2", "2>&1", "|", "||", "&", "&&", ";", ";;",
	"(", ")", "%", "%s", "%%", "%1", "\n", "a\n", "\n\n", "a\nb\n\n", "\r", "\t", " ", "a b", "\x1b[2J", "\x1b]0;x\a", "\x7f", "\x80", "\x81", "\x82\x83", "\x88", "\xff", "\xc3", "é", "日本", "\u202e", "\u00a0", "\ufeff",
	"##[error]x", "::error::x", "it's!", "'!'", "!'", "a'!b'c", "!\n", "\\!", "\"!\"", "$\"x\"", "@(a|b)", "+(x)", "x^y", "a~b", ":~", "a=~", "<(ls)", "=(ls)", "1", "2"}

// vector returns arguments of all kinds of bytes but NUL.
func vector(r *rand.Rand, all []string) (list []string) {
	for range 1 + r.IntN(6) {
		var b strings.Builder
		for range r.IntN(4) {
			switch r.IntN(4) {
			case 0:
				b.WriteByte(byte(1 + r.IntN(255)))
			case 1:
				b.WriteByte("!'\"\\$`%\n~= #-"[r.IntN(13)])
			default:
				b.WriteString(all[r.IntN(len(all))])
			}
		}
		list = append(list, strings.ReplaceAll(b.String(), "\x00", ""))
	}
	return list
}

// A line of --commands, pasted into a shell, executes the program with the same arguments, in the same directory,
// with the same variables and redirections. It is one line, and has nothing that a terminal acts on.
func TestPastedCommands(t *testing.T) {
	var all []string
	for _, s := range append(hostile.Texts(), words...) {
		if s = strings.ReplaceAll(s, "\x00", ""); len(s) < 200 {
			all = append(all, s)
		}
	}
	dir := t.TempDir()
	var names []string // of files and directories
	for _, s := range all {
		if s = strings.ReplaceAll(s, "/", ""); s != "" && s != "." && s != ".." {
			names = append(names, s)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	var script, want bytes.Buffer
	script.WriteString("[ -z \"$BASH_VERSION\" ] || set -o history -o histexpand\n")
	n := tracetest.Scale(200, 10_000, 10_000)
	for i := range n + len(words) {
		args := vector(r, all)
		if i < len(words) {
			args = []string{words[i]}
		}
		value := args[r.IntN(len(args))]
		in := filepath.Join(dir, names[r.IntN(len(names))])
		if err := os.MkdirAll(in, 0o777); err != nil {
			t.Fatal(err)
		}
		d := posixtrace.ExecData{Path: "/bin/sh", Dir: in, Stdin: "</dev/null", Stderr: "<&-", Stdout: ">>" + filepath.Join(dir, names[r.IntN(len(names))]+".out"),
			Argv: append([]string{"sh", "-c", `printf '%s\0' "$HOSTILE" "$@" "${PWD##*/}" >&3`, "sh", strconv.Itoa(i)}, args...)}
		d.Environment = []string{"HOSTILE=" + value}
		switch i % 4 {
		case 1:
			d.Unset = []string{"GONE"}
		case 2:
			d.Environment = append(d.Environment, "path=x", "UID=0", "a b=c", "BASH_FUNC_x%%=() { :\n}")
		}
		p := executed{data: &d}
		p.variables = p.variables.Changed(&d)
		line := p.line()
		if bytes.ContainsFunc(line, func(r rune) bool { return !escape.Visible(r) }) || !utf8.Valid(line) {
			t.Fatalf("%q: a terminal acts on it", line)
		}
		script.Write(append(line, '\n'))
		for _, text := range append(append([]string{value, strconv.Itoa(i)}, args...), filepath.Base(in)) {
			want.WriteString(text + "\x00")
		}
	}
	for _, shell := range []string{"sh", "dash", "bash", "zsh"} {
		if shell != "sh" {
			if _, err := exec.LookPath(shell); err != nil {
				continue
			}
		}
		t.Run(shell, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			cmd := exec.Command(shell)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GONE=1", "LC_ALL=C.UTF-8"}
			cmd.Stdin, cmd.ExtraFiles = bytes.NewReader(script.Bytes()), []*os.File{file}
			message, err := cmd.CombinedOutput()
			if err != nil || len(message) > 0 {
				t.Errorf("%v: %.300q", err, message)
			}
			got, err := os.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			a, b := bytes.Split(got, nul), bytes.Split(want.Bytes(), nul)
			for i := range min(len(a), len(b)) {
				if !bytes.Equal(a[i], b[i]) {
					t.Fatalf("text %d of %d: got %q, want %q; before: %q", i, len(b), a[i:min(i+3, len(a))], b[i:min(i+3, len(b))], b[max(0, i-5):i])
				}
			}
			if len(a) != len(b) {
				t.Fatalf("%d texts, want %d", len(a), len(b))
			}
		})
	}
}

var nul = []byte{0}
