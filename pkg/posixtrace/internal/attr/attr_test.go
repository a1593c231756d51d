package attr

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// filled returns attributes with another value in each member: the numbers are n and less.
func filled(n uint64) (a Attributes) {
	v := reflect.ValueOf(&a).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("text " + v.Type().Field(i).Name)
		case reflect.Struct:
			f.Set(reflect.ValueOf(Time{Sec: -int64(i) - 1, Nsec: 999_999_999}))
		default:
			setNumber(f, n-uint64(i))
		}
	}
	return a
}

// Each attribute comes back from shared memory and from a superblock.
func TestAttributesComeBack(t *testing.T) {
	a := filled(255)
	b := a.Block()
	if got, ok := b.Attributes(); !ok || got != a {
		t.Errorf("from a block: %+v, %v, want %+v", got, ok, a)
	}
	super := make([]byte, 128)
	a.PutLog(super)
	var got Attributes
	got.GetLog(super)
	for i, s := range a.Texts() {
		*got.Texts()[i] = *s
	}
	if got != a {
		t.Errorf("from a log: %+v, want %+v", got, a)
	}
}

// The description is whole: each attribute has a name in C, a policy its values, and a place in a log is that of
// one attribute.
func TestDescription(t *testing.T) {
	taken := map[int]bool{}
	var a Attributes
	a.logged(func(f reflect.Value, at, size int) {
		for i := at; i < at+size; i++ {
			if taken[i] || i >= 128 {
				t.Errorf("byte %d of the superblock is taken by two attributes, or is beyond the end", i)
			}
			taken[i] = true
		}
	})
	for f := range reflect.TypeFor[Attributes]().Fields() {
		if f.Tag.Get("c") == "" {
			t.Errorf("%s has no name in C", f.Name)
		}
		if f.Type == reflect.TypeFor[Policy]() && f.Tag.Get("of") == "" {
			t.Errorf("%s has no values", f.Name)
		}
		var at, size int
		if n, _ := fmt.Sscanf(f.Tag.Get("log"), "%d,%d", &at, &size); n == 2 && size < 8 && f.Type == reflect.TypeFor[uint64]() {
			if most, err := strconv.ParseUint(f.Tag.Get("max"), 0, 64); err != nil || most >= 1<<(8*size) {
				t.Errorf("%s can be larger than its %d bytes in a log hold", f.Name, size)
			}
		}
	}
}

// A block with a text that is longer than its room is none.
func TestTextBeyondItsRoom(t *testing.T) {
	a := filled(255)
	b := a.Block()
	b[0] = 255
	if got, ok := b.Attributes(); !ok || len(got.Name) != 255 {
		t.Errorf("a name of 255 bytes: %d bytes, %v", len(got.Name), ok)
	}
	b[0] = 256
	if _, ok := b.Attributes(); ok {
		t.Error("a name of 256 bytes fits")
	}
	a = Attributes{Name: strings.Repeat("é", 128), GenerationVersion: strings.Repeat("x", 300)}
	b = a.Block()
	if got, ok := b.Attributes(); !ok || len(got.Name) != 254 || len(got.GenerationVersion) != 62 {
		t.Errorf("long texts: %d and %d bytes, %v", len(got.Name), len(got.GenerationVersion), ok)
	}
}

// Public structs have other types. No value becomes another attribute's, or wraps around.
func TestPublicStructs(t *testing.T) {
	types := map[reflect.Type]reflect.Type{
		reflect.TypeFor[string](): reflect.TypeFor[string](), reflect.TypeFor[Time](): reflect.TypeFor[time.Time](),
		reflect.TypeFor[Duration](): reflect.TypeFor[time.Duration](), reflect.TypeFor[bool](): reflect.TypeFor[uint8](),
		reflect.TypeFor[Policy](): reflect.TypeFor[uint8](), reflect.TypeFor[uint64](): reflect.TypeFor[int64](),
	}
	var fields []reflect.StructField
	for f := range reflect.TypeFor[Attributes]().Fields() {
		fields = append(fields, reflect.StructField{Name: f.Name, Type: types[f.Type]})
	}
	public := reflect.New(reflect.StructOf(fields)).Interface()
	a := filled(255)
	a.StreamSize, a.StreamFullPolicy, a.LogFullPolicy = 1<<63, Flush, 300
	a.ToPublic(public)
	a.StreamSize, a.LogFullPolicy = 1<<63-1, 0
	if got := FromPublic(public); got != a {
		t.Errorf("%+v, want %+v", got, a)
	}
}
