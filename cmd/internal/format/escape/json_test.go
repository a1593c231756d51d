package escape

import (
	"encoding/json"
	"testing"
)

func TestAppendJSONByte(t *testing.T) {
	for c := range byte(0x80) {
		for _, b := range [][]byte{AppendJSONByte([]byte{'"'}, c), AppendJSONUnit([]byte{'"'}, uint16(c))} {
			var got string
			if err := json.Unmarshal(append(b, '"'), &got); err != nil || got != string(rune(c)) {
				t.Errorf("%s is %q, %v; want %q", b, got, err, c)
			}
		}
	}
}
