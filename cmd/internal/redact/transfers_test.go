package redact

import (
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func write(text string, result int64) *posixtrace.SyscallData {
	d := &posixtrace.SyscallData{Returned: true, Result: result}
	if result < 0 {
		d.Result, d.Errno = -1, int(-result)
	}
	a := posixtrace.SyscallArg{Value: []byte(text), String: true}
	if head, ok := strings.CutSuffix(text, "..."); ok {
		a.Value, a.Cut = []byte(head), true
	}
	if strings.HasPrefix(text, "[") {
		a.String = false
	}
	d.Args = []posixtrace.SyscallArg{{Value: []byte("3</dev/null>")}, a}
	return d
}

// What a process passes on in several calls is one text, whatever calls fail or pass on only a part.
func TestTransfers(t *testing.T) {
	type call struct {
		text   string
		result int64 // less than 0: the error number
		want   string
	}
	set, err := New([]string{"hunter[0-9]{4}", `a"b\\c`})
	if err != nil {
		t.Fatal(err)
	}
	tails := map[string]string{"cut...": "cut off hunt", "cut": "cut off hunt", "clean...": "clean", "clean": "clean"}
	for _, calls := range [][]call{
		{{"a hunter1234 b", 14, "a *** b"}},
		{{"a hunt", 6, "a ***"}, {"er1234 b", 8, "*** b"}, {"er1234", 6, "er1234"}},
		{{"a hun", 5, "a hun"}, {"ter1234 b", 9, "*** b"}},
		{{"a hunt", 6, "a ***"}, {"er1234", -11, "***"}, {"er1234", 6, "***"}, {"er1234", 6, "er1234"}},
		{{"a hunter1234", 6, "a ***"}, {"er1234", 2, "***"}, {"1234", 4, "***"}, {"1234", 4, "1234"}},
		{{`[{"a hunt", 6}, {"er12", 4}, {"34", 2}]`, 12, `[{"a ***", 6}, {"***", 4}, {"***", 2}]`}},
		{{`[{"a hunt", 6}]`, 6, `[{"a ***", 6}]`}, {"er1234 b", 8, "*** b"}},
		{{`[{"a hunt", 6}, {"er1234", 6}]`, 8, `[{"a ***", 6}, {"***", 6}]`}, {"1234 b", 6, "*** b"}},
		{{"cut...", 80, "cut"}, {"er1234 b", 8, "*** b"}},
		{{"clean...", 80, "clean"}, {"er1234 b", 8, "er1234 b"}},
		{{`[{"cut"..., 80}, {"er1234", 6}]`, 86, `[{"cut"..., 80}, {"***", 6}]`}},
		{{`[{"x a\"b\\c", 7}]`, 7, `[{"x ***", 7}]`}},
		{{`x a\"b\\c y`, 11, "x *** y"}},
	} {
		m := set.NewTransfers()
		for i, c := range calls {
			d := write(c.text, c.result)
			m.Call("syscall.write", 1, d, func(int) []byte {
				for name, tail := range tails {
					if strings.Contains(c.text, name+`"...`) || c.text == name {
						return []byte(tail)
					}
				}
				return nil
			})
			if got := string(d.Args[1].Value); got != c.want {
				t.Errorf("%v, call %d: %q, want %q", calls, i, got, c.want)
			}
		}
	}
}

// A quote in a path begins no text in quotes, and a pattern that matches a part does not hide another's match.
func TestCallQuotes(t *testing.T) {
	set, err := New([]string{`hunter"[0-9]{4}`, "hunt[a-z]+", `a\\"b`})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`11</tmp/hunter"1234/hunter"1234>`:         `11</tmp/***/***>`,
		`["x", "hunter\"1234 y", "hunter\"12"...]`: `["x", "*** y", "***"...]`,
		`[fd=3</hunter"1234>, "a\\\"b", "b"]`:      `[fd=3</***>, "***", "b"]`,
	} {
		d := &posixtrace.SyscallData{Args: []posixtrace.SyscallArg{{Value: []byte(value)}}}
		if set.Call(d); string(d.Args[0].Value) != want {
			t.Errorf("%s becomes %s, want %s", value, d.Args[0].Value, want)
		}
	}
}

// Where there is no room for another open match, nothing of it is shown.
func TestTransfersFull(t *testing.T) {
	set, err := New([]string{"hunter[0-9]{4}"})
	if err != nil {
		t.Fatal(err)
	}
	m := set.NewTransfers()
	show := func(pid int, text string) string {
		d := write(text, int64(len(text)))
		m.Call("syscall.write", pid, d, nil)
		return string(d.Args[1].Value)
	}
	for pid := range 2 * maxTransfers {
		show(pid+1, "a hunt")
	}
	for pid := range 2 * maxTransfers {
		if got := show(pid+1, "er1234 b"); strings.Contains(got, "er") {
			t.Fatalf("process %d: %q", pid+1, got)
		}
	}
	m = set.NewTransfers()
	for pid := range 2 * maxTransfers {
		show(pid+1, "a hunt")
		m.Exit(pid + 1)
	}
	if got := show(1, "er1234"); got != "er1234" {
		t.Errorf("the process of a reused number: %q", got)
	}

	f := set.NewFilter(func(posixtrace.EventID) string { return "" })
	for i, text := range []string{"a hunt", "er1234 b"} {
		for pid := range 2 * maxOutputs {
			var rec posixtrace.Record
			rec.ID, rec.PID = posixtrace.EventOutputStdout, pid+1
			d := posixtrace.OutputData{Line: []byte(text), Continues: i == 0}
			rec.Data = d.Append(nil)
			f.Record(&rec)
			if got := string(rec.Data); strings.Contains(got, "hunt") || strings.Contains(got, "er1") {
				t.Fatalf("output of %d: %q", pid+1, got)
			}
		}
	}
}
