package attr

import (
	"reflect"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// Block is the attributes in memory that processes share, in the order of Attributes, with room for more. C
// has it as struct pxt_attributes. A number is a word, a text its length and its room, a multiple of a word.
type Block [60]uint64

// Block returns the attributes as they are shared. A text that is too long is cut.
func (a *Attributes) Block() (b Block) {
	at, v := 0, reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			text := b.text(at, v.Type().Field(i))
			b[at] = uint64(copy(text, Cut(f.String(), len(text)-1)))
			at += 1 + len(text)/8
		case reflect.Struct:
			t := f.Interface().(Time)
			b[at], b[at+1] = uint64(t.Sec), uint64(t.Nsec)
			at += 2
		default:
			b[at] = number(f)
			at++
		}
	}
	return b
}

// Attributes returns the attributes of a block, false if a text is longer than its room.
func (b *Block) Attributes() (a Attributes, ok bool) {
	at, v := 0, reflect.ValueOf(&a).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			text := b.text(at, v.Type().Field(i))
			if b[at] >= uint64(len(text)) {
				return Attributes{}, false
			}
			f.SetString(string(text[:b[at]]))
			at += 1 + len(text)/8
		case reflect.Struct:
			f.Set(reflect.ValueOf(Time{int64(b[at]), int64(b[at+1])}))
			at += 2
		default:
			setNumber(f, b[at])
			at++
		}
	}
	return a, true
}

// text returns the room for a text whose length is at a word.
func (b *Block) text(at int, f reflect.StructField) []byte {
	room, _ := strconv.Atoi(f.Tag.Get("room"))
	return unsafe.Slice((*byte)(unsafe.Pointer(&b[at+1 : at+1+room/8][0])), room)
}

// number returns a member that is no text and no time.
func number(f reflect.Value) uint64 {
	if f.Kind() != reflect.Bool {
		return f.Uint()
	}
	if f.Bool() {
		return 1
	}
	return 0
}

func setNumber(f reflect.Value, n uint64) {
	if f.Kind() == reflect.Bool {
		f.SetBool(n != 0)
	} else {
		f.SetUint(n)
	}
}

// Cut cuts a text of more than most bytes, at the end of a character (ATR-08).
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:most-1]
	for i := len(s) - 1; i >= 0 && i >= len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				s = s[:i]
			}
			break
		}
	}
	return s
}
