package test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// attributeLines returns the lines that testdata/attributes.c prints, in alphabetical order.
func attributeLines(a posixtrace.StreamAttr, err error) []string {
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for name, v := range tool.Attributes(&a) {
		text := fmt.Sprint(v)
		switch v := v.(type) {
		case time.Time:
			text = fmt.Sprintf("%d.%d", v.Unix(), v.Nanosecond())
		case time.Duration:
			text = fmt.Sprintf("%d.%d", v/time.Second, v%time.Second)
		case fmt.Stringer: // a policy, or an inheritance
			text = fmt.Sprintf("%d", v)
		}
		lines = append(lines, strings.ToLower(name[:1])+name[1:]+" "+text)
	}
	slices.Sort(lines)
	return lines
}

// someSettings returns settings that differ from the default in each attribute.
func someSettings() (a posixtrace.Attr) {
	i := 0
	for name := range tool.Attributes(&posixtrace.StreamAttr{}) {
		f := reflect.ValueOf(&a).Elem().FieldByName(name)
		i++
		switch {
		case !f.IsValid(): // no attribute that can be set
		case f.Kind() == reflect.String:
			f.SetString("a text")
		case f.Type() == reflect.TypeFor[posixtrace.FullPolicy]():
			f.Set(reflect.ValueOf(posixtrace.PolicyUntilFull))
		case f.Kind() == reflect.Uint8:
			f.SetUint(1)
		case f.Kind() == reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			f.Elem().SetInt(int64(i))
		default:
			f.SetInt(int64(i))
		}
	}
	return a
}

// Each attribute of a stream, whichever language created it, is the same in both languages: in the stream, in
// its memory as C sees it, and in its log. The test learns from the description which attributes there are.
func TestEachAttributeGoesRound(t *testing.T) {
	program := agentProgram(t, "attributes.c")
	traceDir := ctest.TraceDir(t)
	t.Setenv("PTRACE_DIR", traceDir)
	tool.ForgetDirectory()
	t.Cleanup(tool.ForgetDirectory)
	log := filepath.Join(t.TempDir(), "log.trace")

	// paragraph reads what a program prints up to an empty line.
	paragraph := func(r *bufio.Reader) (lines []string) {
		for {
			line, err := r.ReadString('\n')
			if line = strings.TrimSuffix(line, "\n"); line == "" || err != nil {
				slices.Sort(lines)
				return lines
			}
			lines = append(lines, line)
		}
	}
	inC := func(mode, path string) []string {
		t.Helper()
		out, err := ctest.Command(t, traceDir, program, mode, path).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", mode, err, out)
		}
		return paragraph(bufio.NewReader(strings.NewReader(string(out))))
	}
	same := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nbut the stream has\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	// look compares what the stream says with the other places, and with a stream that has the defaults.
	look := func(by string, stream []string, shutdown func(), defaults []string) {
		t.Helper()
		list, err := posixtrace.List()
		tracetest.OK(t, "List", err)
		if len(list) != 1 {
			t.Fatalf("%d streams", len(list))
		}
		same(by+", the memory in C", inC("header", list[0].Path), stream)
		s, err := posixtrace.Attach(list[0].Path)
		tracetest.OK(t, "Attach", err)
		same(by+", the stream in Go", attributeLines(s.Attr()), stream)
		tracetest.OK(t, "Close", s.Close())
		shutdown()
		f, err := os.Open(log)
		tracetest.OK(t, "open", err)
		defer f.Close()
		l, err := posixtrace.Open(f)
		tracetest.OK(t, "Open", err)
		defer l.Close()
		same(by+", the log in Go", attributeLines(l.Attr()), stream)
		same(by+", the log in C", inC("log", log), stream)
		if defaults == nil {
			return
		}
		settings := reflect.TypeFor[posixtrace.Attr]()
		for name := range tool.Attributes(&posixtrace.StreamAttr{}) {
			member := strings.ToLower(name[:1]) + name[1:] + " "
			i := slices.IndexFunc(stream, func(l string) bool { return strings.HasPrefix(l, member) })
			if i < 0 {
				t.Fatalf("%s: no %s", by, member)
			}
			if _, ok := settings.FieldByName(name); ok && slices.Contains(defaults, stream[i]) {
				t.Errorf("%s: %s is as if it were not set: %s", by, name, stream[i])
			}
		}
	}
	byC := func(mode string, defaults []string) []string {
		t.Helper()
		cmd := ctest.Command(t, traceDir, program, mode, log)
		in, err := cmd.StdinPipe()
		tracetest.OK(t, "pipe", err)
		out, err := cmd.StdoutPipe()
		tracetest.OK(t, "pipe", err)
		cmd.Stderr = os.Stderr
		tracetest.OK(t, "start", cmd.Start())
		r := bufio.NewReader(out)
		stream := paragraph(r)
		look(mode+" in C", stream, func() {
			in.Close()
			io.Copy(io.Discard, r)
			tracetest.OK(t, "end", cmd.Wait())
		}, defaults)
		return stream
	}
	byGo := func(a posixtrace.Attr, defaults []string) []string {
		t.Helper()
		f, err := os.Create(log)
		tracetest.OK(t, "create", err)
		defer f.Close()
		s, err := posixtrace.CreateWithLog(0, &a, f)
		tracetest.OK(t, "CreateWithLog", err)
		stream := attributeLines(s.Attr())
		look("in Go", stream, func() { tracetest.OK(t, "Shutdown", s.Shutdown()) }, defaults)
		return stream
	}
	byC("create", byC("default", nil))
	byGo(someSettings(), byGo(posixtrace.Attr{}, nil))
}
