package ctl

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A member of ptrace-ctl hang --json has the name that it has in the event.
func TestHangNames(t *testing.T) {
	var members map[string]any
	if err := json.Unmarshal(appendHangJSON(nil, &hang.Thread{Args: []string{"a"}}), &members); err != nil {
		t.Fatal(err)
	}
	names := []string{"pid", "tid"}
	for _, m := range sysevent.Of(posixtrace.EventHangThread).Members {
		names = append(names, m.Name)
	}
	for name := range members {
		if !slices.Contains(names, name) {
			t.Errorf("the event has no %s", name)
		}
	}
}
