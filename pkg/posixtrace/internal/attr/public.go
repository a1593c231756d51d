package attr

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"syscall"
	"time"
)

// Settable reports whether a member has a function that sets it.
func Settable(f reflect.StructField) bool { return f.Tag.Get("set") != "no" }

// Defaults returns the attributes of settings that nothing has set.
func Defaults() (a Attributes) {
	v := reflect.ValueOf(&a).Elem()
	for i := range v.NumField() {
		s, ok := v.Type().Field(i).Tag.Lookup("default")
		switch n, err := strconv.ParseUint(s, 0, 64); {
		case v.Field(i).Kind() == reflect.String:
			v.Field(i).SetString(s)
		case err == nil:
			setNumber(v.Field(i), n)
		case ok:
			panic("attribute " + v.Type().Field(i).Name + ": " + err.Error())
		}
	}
	return a
}

// FromSettings returns the attributes that settings ask for, a pointer to a struct with members of the same
// names. Those that are zero or nil have their default. The error wraps EINVAL.
func FromSettings(settings any) (Attributes, error) {
	a := Defaults()
	v, from := reflect.ValueOf(&a).Elem(), reflect.ValueOf(settings).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !Settable(field) {
			continue
		}
		s := from.FieldByName(field.Name)
		if s.IsZero() {
			continue
		}
		if s.Kind() == reflect.Pointer {
			s = s.Elem()
		}
		if s.CanInt() && s.Int() < 0 {
			return a, fmt.Errorf("%s below zero: %w", field.Name, syscall.EINVAL)
		}
		assign(v.Field(i), s)
		if most, err := strconv.ParseUint(field.Tag.Get("max"), 0, 64); err == nil && v.Field(i).Uint() > most {
			return a, fmt.Errorf("%s of %d, and %d is the most: %w", field.Name, v.Field(i).Uint(), most, syscall.EINVAL)
		}
	}
	return a, nil
}

// FromPublic returns the attributes that a struct with members of the same names holds.
func FromPublic(public any) (a Attributes) {
	v, from := reflect.ValueOf(&a).Elem(), reflect.ValueOf(public).Elem()
	for i := range v.NumField() {
		assign(v.Field(i), from.FieldByName(v.Type().Field(i).Name))
	}
	return a
}

// ToPublic sets the members of a struct to the attributes of the same names. Settings lack those that cannot be
// set.
func (a *Attributes) ToPublic(public any) { a.toPublic(public, math.MaxUint64) }

// ToSettings sets those members of settings whose bits are in set, by their numbers in Attributes. A number that
// is zero becomes one, because in settings a zero asks for the default, unless that is zero.
func (a *Attributes) ToSettings(settings any, set uint64) {
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		to := reflect.ValueOf(settings).Elem().FieldByName(v.Type().Field(i).Name)
		if to.IsValid() && to.CanInt() && v.Field(i).IsZero() && v.Type().Field(i).Tag.Get("default") != "" {
			v.Field(i).SetUint(1)
		}
	}
	a.toPublic(settings, set)
}

func (a *Attributes) toPublic(public any, set uint64) {
	v, to := reflect.ValueOf(a).Elem(), reflect.ValueOf(public).Elem()
	for i := range v.NumField() {
		if f := to.FieldByName(v.Type().Field(i).Name); f.IsValid() && set&(1<<i) != 0 {
			assign(f, v.Field(i))
		}
	}
}

// assign sets a member of one struct to that of another, each of the type that its struct has for it. A
// number that is too large becomes the largest one, and a policy that is unknown the default.
func assign(to, from reflect.Value) {
	switch x := from.Interface().(type) {
	case string:
		to.SetString(x)
		return
	case Time:
		to.Set(reflect.ValueOf(x.Time()))
		return
	case time.Time:
		to.Set(reflect.ValueOf(TimeOf(x)))
		return
	case Policy:
		if x > Append {
			from = reflect.ValueOf(Policy(0))
		}
	}
	var n uint64
	if from.CanInt() {
		n = uint64(max(from.Int(), 0))
	} else {
		n = number(from)
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		to.Elem().SetInt(int64(min(n, math.MaxInt32)))
	case reflect.Int:
		to.SetInt(int64(min(n, math.MaxInt32)))
	case reflect.Int64:
		to.SetInt(int64(min(n, math.MaxInt64)))
	case reflect.Uint8:
		to.SetUint(min(n, math.MaxUint8))
	default:
		setNumber(to, n)
	}
}
