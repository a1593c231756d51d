package script_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A call stack, and what a descriptor refers to, is in OTLP as in ptrace-dump -j.
func TestExportOTLPStack(t *testing.T) {
	program := decoder(t)
	dir, env, _ := recordAll(t)
	type call struct{ stack, opened string }
	want := map[uint64]call{}
	for _, ev := range jsonLines(t, dir, env, "calls.trace", "-e", "syscall.*") {
		var c call
		if list, ok := ev["stack"].([]any); ok {
			var lines []string
			for _, f := range list {
				lines = append(lines, f.(map[string]any)["address"].(string))
			}
			c.stack = strings.Join(lines, "\n")
		}
		c.opened, _ = ev["opened"].(string)
		sec, _ := ev["sec"].(json.Number).Int64()
		nsec, _ := ev["nsec"].(json.Number).Int64()
		want[uint64(sec*1e9+nsec)] = c
	}
	stacks, opened := 0, 0
	lines, _ := exportOTLP(t, dir, env, "-e", "syscall.*", "calls.trace")
	for _, it := range decodeOTLP(t, program, lines) {
		c := call{text(it.Attributes["code.stacktrace"]), text(it.Attributes["posixtrace.opened"])}
		if w, ok := want[it.Start]; !ok || c != w {
			t.Errorf("%s: %q, want %q", it.Name, c, w)
		}
		stacks += strings.Count(c.stack, "\n")
		opened += len(c.opened)
	}
	if stacks < 10 || opened == 0 {
		t.Errorf("%d callers, %d bytes of names", stacks, opened)
	}
}
