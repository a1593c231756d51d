package event

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadPayload(t *testing.T) {
	for n, cut := range map[int]bool{0: false, 1: false, maxPayload: false, maxPayload + 1: true, 3 * maxPayload: true} {
		r := strings.NewReader(strings.Repeat("x", n))
		data, got, err := readPayload(r)
		if len(data) != min(n, maxPayload) || got != cut || err != nil || r.Len() != 0 {
			t.Errorf("of %d bytes: %d, cut %v, %v, %d not read", n, len(data), got, err, r.Len())
		}
	}
	failure := errors.New("failure")
	if _, _, err := readPayload(iotest.ErrReader(failure)); !errors.Is(err, failure) && (err == nil || !strings.Contains(err.Error(), "failure")) {
		t.Errorf("a failure: %v", err)
	}
}

func TestNoSecretsChangeNothing(t *testing.T) {
	var none secrets
	if got := string(none.lines()([]byte("line\n"), 0)); got != "line\n" || none.string("name") != "name" || string(none.text([]byte("data"), true)) != "data" {
		t.Errorf("%q", got)
	}
}
