package posixtrace

import (
	"reflect"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
)

// The public structs have the attributes that the description has, and their defaults are its defaults.
func TestPublicAttributes(t *testing.T) {
	described := reflect.TypeFor[attr.Attributes]()
	for f := range reflect.TypeFor[StreamAttr]().Fields() {
		if _, ok := described.FieldByName(f.Name); !ok {
			t.Errorf("StreamAttr.%s is no attribute", f.Name)
		}
	}
	for f := range described.Fields() {
		if _, ok := reflect.TypeFor[StreamAttr]().FieldByName(f.Name); !ok {
			t.Errorf("StreamAttr has no %s", f.Name)
		}
		if _, ok := reflect.TypeFor[Attr]().FieldByName(f.Name); ok != attr.Settable(f) {
			t.Errorf("Attr has a member %s: %v", f.Name, ok)
		}
	}
	d := attr.Defaults()
	if d.StreamSize != DefaultStreamSize || d.MaxDataSize != DefaultMaxDataSize || d.LogSize != DefaultLogSize {
		t.Errorf("the defaults of the description are %d, %d and %d", d.StreamSize, d.MaxDataSize, d.LogSize)
	}
	var a StreamAttr
	d.ToPublic(&a)
	if again := attr.FromPublic(&a); again != d {
		t.Errorf("through StreamAttr: %+v, want %+v", again, d)
	}
	settings := a.Attr()
	if again, err := attr.FromSettings(&settings); again != d {
		t.Errorf("through Attr: %+v, %v, want %+v", again, err, d)
	}
}
