package dump

import "testing"

// What a source can do is what its type implements: a method too many, as of an embedded type, would make
// ptrace-dump read a pipe twice or follow a compressed log.
func TestSourcesCan(t *testing.T) {
	for _, test := range []struct {
		name                       string
		source                     source
		kept, rereadable, followed bool
	}{
		{"file", &fileLog{}, true, true, true},
		{"compressed", &packedLog{}, true, true, false},
		{"pipe", &pipeLog{}, true, false, true},
		{"snapshots", &snapshotStream{}, true, true, true},
		{"consumed", &consumedStream{}, false, false, true},
	} {
		_, k := test.source.(kept)
		_, r := test.source.(rereadable)
		_, f := test.source.(followed)
		if k != test.kept || r != test.rereadable || f != test.followed {
			t.Errorf("%s: kept %v, rereadable %v, followed %v; want %v, %v, %v", test.name, k, r, f, test.kept, test.rereadable, test.followed)
		}
	}
}
