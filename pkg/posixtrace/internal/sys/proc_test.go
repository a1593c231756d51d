package sys

import "testing"

func TestPack(t *testing.T) {
	for _, p := range []Proc{{}, {1, 0}, {1<<22 - 1, 1<<42 - 1}, SelfProc()} {
		if got := Unpack(p.Pack()); got != p {
			t.Errorf("Unpack(Pack(%v)) = %v", p, got)
		}
	}
}
