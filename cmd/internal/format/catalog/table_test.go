package catalog

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestTable(t *testing.T) {
	var table Table[string]
	ids := []posixtrace.EventID{0, 63, 64, 1, maxType}
	for i, id := range ids {
		if v, known := table.Get(id); known || v != "" {
			t.Errorf("before Put, Get(%d) = %q, %v", id, v, known)
		}
		table.Put(id, "")
		table.Put(id, string(rune('a'+i)))
	}
	for i, id := range ids {
		if v, known := table.Get(id); !known || v != string(rune('a'+i)) {
			t.Errorf("Get(%d) = %q, %v", id, v, known)
		}
	}
	if _, known := table.Get(62); known {
		t.Error("Get(62) knows a type that was not put")
	}
}

// A damaged log may have events of any type: the table does not grow with their numbers.
func TestTableIsBounded(t *testing.T) {
	var table Table[int]
	table.Put(maxType+1, 1)
	table.Put(1<<31, 1)
	if _, known := table.Get(maxType + 1); known || len(table.rows) != 0 {
		t.Errorf("%d rows after types that do not exist", len(table.rows))
	}
	table.Put(maxType, 1)
	if len(table.rows) != maxType+1 {
		t.Errorf("%d rows, want %d", len(table.rows), maxType+1)
	}
}
