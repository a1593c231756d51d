package tool

import (
	"iter"
	"reflect"
	"syscall"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
)

// Attributes yields the members of a in the order in which programs show them.
func Attributes(a *posixtrace.StreamAttr) iter.Seq2[string, any] {
	return func(yield func(name string, value any) bool) {
		for f := range reflect.TypeFor[attr.Attributes]().Fields() {
			if !yield(f.Name, reflect.ValueOf(a).Elem().FieldByName(f.Name).Interface()) {
				return
			}
		}
	}
}

// TakeAttr returns the settings that a program in C has put into the memory that it shares with its agent.
// Those whose bits are not in set have their default. The error is EINVAL.
func TakeAttr(shared []byte, set uint64) (a posixtrace.Attr, err error) {
	if set == 0 { // there may be other things in the memory
		return a, nil
	}
	b := *block(shared)
	stored, ok := b.Attributes()
	if !ok {
		return a, syscall.EINVAL
	}
	stored.ToSettings(&a, set)
	return a, nil
}

// GiveAttr puts attributes into that memory.
func GiveAttr(shared []byte, a *posixtrace.StreamAttr) {
	stored := attr.FromPublic(a)
	*block(shared) = stored.Block()
}

func block(shared []byte) *attr.Block {
	return (*attr.Block)(unsafe.Pointer(unsafe.SliceData(shared[:unsafe.Sizeof(attr.Block{})])))
}
