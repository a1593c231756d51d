package dump

import (
	"bytes"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Two hundred seconds pass in a fifth of one, and earlier output is flushed before the
// wait.
func TestPacer(t *testing.T) {
	var shown bytes.Buffer
	env := &cli.Env{Stdout: cli.NewWriter(&shown)}
	p := &pacer{speed: 1000, out: &sink{env: env, buf: []byte("first\n")}}
	began := time.Now()
	p.wait(1e18)
	p.wait(1e18)
	if shown.Len() > 0 {
		t.Error("output before the first wait")
	}
	p.wait(1e18 + 200e9)
	if d := time.Since(began); d < 200*time.Millisecond || d > 100*time.Second {
		t.Errorf("it takes %v", d)
	}
	if shown.String() != "first\n" {
		t.Errorf("shown while waiting: %q", shown.String())
	}
	p.wait(1e18 + 1) // a late event does not wait
}

func TestParseSpeed(t *testing.T) {
	for s, want := range map[string]float64{"1": 1, "0.5": .5, "10": 10, ".5": .5, "1000000": 1e6} {
		if got, err := parseSpeed(s); err != nil || got != want {
			t.Errorf("parseSpeed(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "-1", "1x", "inf", "NaN", "1e3", "0x10", "1_0", "0.0000000001", "99999999999", ".", "1.2.3"} {
		if got, err := parseSpeed(s); err == nil {
			t.Errorf("parseSpeed(%q) = %v, want an error", s, got)
		}
	}
}
