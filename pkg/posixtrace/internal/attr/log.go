package attr

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// PutLog stores the attributes in the superblock of a log. The texts are among its strings: see Texts.
func (a *Attributes) PutLog(super []byte) {
	le := binary.LittleEndian
	a.logged(func(f reflect.Value, at, size int) {
		var n [8]byte
		if f.Kind() == reflect.Struct {
			t := f.Interface().(Time)
			le.PutUint64(super[at:], uint64(t.Sec))
			le.PutUint32(super[at+8:], uint32(t.Nsec))
			return
		}
		le.PutUint64(n[:], number(f))
		copy(super[at:at+size], n[:])
	})
}

// GetLog sets the attributes, other than texts, to those of a superblock.
func (a *Attributes) GetLog(super []byte) {
	le := binary.LittleEndian
	a.logged(func(f reflect.Value, at, size int) {
		var n [8]byte
		if f.Kind() == reflect.Struct {
			f.Set(reflect.ValueOf(Time{int64(le.Uint64(super[at:])), int64(le.Uint32(super[at+8:]))}))
			return
		}
		copy(n[:], super[at:at+size])
		setNumber(f, le.Uint64(n[:]))
	})
}

// logged calls do for each member with a place of its own in the superblock.
func (a *Attributes) logged(do func(f reflect.Value, at, size int)) {
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.String {
			continue
		}
		var at, size int
		if _, err := fmt.Sscanf(v.Type().Field(i).Tag.Get("log"), "%d,%d", &at, &size); err != nil {
			panic("attribute " + v.Type().Field(i).Name + " has no place in a log")
		}
		do(v.Field(i), at, size)
	}
}

// Texts lists the attributes that are texts.
func (a *Attributes) Texts() (list []*string) {
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		if s, ok := v.Field(i).Addr().Interface().(*string); ok {
			list = append(list, s)
		}
	}
	return list
}
