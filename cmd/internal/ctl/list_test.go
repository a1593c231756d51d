package ctl

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestStateOfStream(t *testing.T) {
	running := posixtrace.StreamInfo{Status: posixtrace.StatusRunning}
	foreign := posixtrace.StreamInfo{Status: posixtrace.StatusRunning, Err: errors.New("version 7")}
	if a, b := state(running), state(foreign); a == b || a != posixtrace.StatusRunning.String() {
		t.Errorf("%q and, of another version, %q", a, b)
	}
	if errorText(nil) != "" || errorText(foreign.Err) == "" {
		t.Errorf("%q, %q", errorText(nil), errorText(foreign.Err))
	}
}

// A thread that is in no system call has no call, no arguments and no time in it.
func TestThreadAsJSON(t *testing.T) {
	th := &tracer.Thread{TID: 8, Name: "a\"b", State: "running", Wait: "futex", Hidden: errors.New("why")}
	var got map[string]any
	if err := json.Unmarshal(appendThreadJSON(nil, 7, th), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"pid": 7.0, "tid": 8.0, "name": "a\"b", "state": "running", "call": "", "wait": "futex", "error": "why"} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if list, ok := got["args"].([]any); !ok || len(list) != 0 {
		t.Errorf("args is %v", got["args"])
	}
	if _, ok := got["duration_ns"]; ok {
		t.Error("it has a duration")
	}
}
