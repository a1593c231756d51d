package main

import (
	"bytes"
	"fmt"
	"go/constant"
	"go/types"
	"reflect"
	"strconv"
	"strings"
)

// attribute is a member of attr.Attributes.
type attribute struct {
	name string // of the member in C
	kind string // of the member in Go
	bit  int
	room int // of a text
	tag  reflect.StructTag
}

// kinds are the types of attributes: that in C, its size in words, and the list of those that have it.
var kinds = map[string]struct {
	ctype string
	words int
	list  string
}{
	"string":   {"struct", 1, "TEXTS"},
	"Time":     {"struct pxt_time", 2, "TIMES"},
	"Duration": {"uint64_t", 1, "DURATIONS"},
	"bool":     {"uint64_t", 1, "CHOICES"},
	"Policy":   {"uint64_t", 1, "CHOICES"},
	"uint64":   {"uint64_t", 1, "SIZES"},
}

// writeAttributes writes attr.Block as a struct, and what attr.c makes the functions of attributes objects of.
func writeAttributes(b *bytes.Buffer, p *types.Package) error {
	var all []attribute
	members := p.Scope().Lookup("Attributes").Type().Underlying().(*types.Struct)
	for i := range members.NumFields() {
		f := members.Field(i)
		a := attribute{name: member(f.Name()), bit: i, tag: reflect.StructTag(members.Tag(i))}
		a.kind = types.TypeString(f.Type(), func(*types.Package) string { return "" })
		a.room, _ = strconv.Atoi(a.tag.Get("room"))
		if kinds[a.kind].words == 0 || a.tag.Get("c") == "" || a.room%8 != 0 || (a.room > 0) != (a.kind == "string") {
			return fmt.Errorf("attribute %s: type %s, %q", f.Name(), a.kind, members.Tag(i))
		}
		all = append(all, a)
	}
	words := int(p.Scope().Lookup("Block").Type().Underlying().(*types.Array).Len())
	if err := writeBlock(b, all, words); err != nil {
		return err
	}
	b.WriteString("\n/* The attributes of settings that nothing has set. */\n#define PXT_ATTR_DEFAULTS {")
	for _, a := range all {
		if d := a.tag.Get("default"); a.kind == "string" && d != "" {
			fmt.Fprintf(b, ".%s = {%d, %q}, ", a.name, len(d), d)
		} else if d != "" {
			fmt.Fprintf(b, ".%s = %s, ", a.name, d)
		}
	}
	b.Truncate(b.Len() - 2)
	b.WriteString("}\n\n" + `/*
 * The attributes by type: X(the end of the names of the functions, member, ...). Further arguments are
 * the number of an attribute that can be set, and what it can be set to: a bit for each choice, or the largest
 * size.
 */
`)
	for _, list := range []string{"TEXTS", "SET_TEXTS", "TIMES", "DURATIONS", "CHOICES", "SIZES"} {
		fmt.Fprintf(b, "#define PXT_ATTR_%s(X)", list)
		for _, a := range all {
			if kinds[a.kind].list == list || list == "SET_TEXTS" && a.kind == "string" && a.tag.Get("set") != "no" {
				more, err := a.limits(p)
				if err != nil {
					return err
				}
				if list == "SET_TEXTS" {
					more = fmt.Sprintf(", %d", a.bit)
				}
				fmt.Fprintf(b, " X(%s, %s%s)", a.tag.Get("c"), a.name, more)
			}
		}
		b.WriteByte('\n')
	}
	return nil
}

// writeBlock writes the struct of so many words.
func writeBlock(b *bytes.Buffer, all []attribute, words int) error {
	b.WriteString("\nstruct pxt_attributes {\n")
	var asserts strings.Builder
	at := 0
	for _, a := range all {
		k := kinds[a.kind]
		if a.room > 0 {
			fmt.Fprintf(b, "\tstruct {\n\t\tuint64_t length;\n\t\tuint8_t bytes[%d];\n\t} %s;\n", a.room, a.name)
		} else {
			fmt.Fprintf(b, "\t%s %s;\n", k.ctype, a.name)
		}
		fmt.Fprintf(&asserts, "_Static_assert(offsetof(struct pxt_attributes, %s) == %d, \"layout\");\n", a.name, 8*at)
		at += k.words + a.room/8
	}
	if at >= words {
		return fmt.Errorf("attr.Block has %d words, and the attributes need %d", words, at)
	}
	fmt.Fprintf(b, "\tuint64_t unused[%d];\n};\n_Static_assert(sizeof(struct pxt_attributes) == %d, \"layout\");\n%s", words-at, 8*words, &asserts)
	return nil
}

// limits returns the further arguments of an attribute in its list.
func (a *attribute) limits(p *types.Package) (string, error) {
	switch a.kind {
	case "bool":
		return fmt.Sprintf(", %d, 0x3", a.bit), nil
	case "Policy":
		mask := uint64(0)
		for _, name := range strings.Fields(a.tag.Get("of")) {
			c, ok := p.Scope().Lookup(name).(*types.Const)
			if !ok {
				return "", fmt.Errorf("attribute %s: no policy %s", a.name, name)
			}
			n, _ := constant.Uint64Val(c.Val())
			mask |= 1 << n
		}
		return fmt.Sprintf(", %d, %#x", a.bit, mask), nil
	case "uint64":
		most, err := "UINT64_MAX", error(nil)
		if s, ok := a.tag.Lookup("max"); ok {
			var n uint64
			n, err = strconv.ParseUint(s, 0, 64)
			most = fmt.Sprintf("UINT64_C(%d)", n)
		}
		return fmt.Sprintf(", %d, %s", a.bit, most), err
	}
	return "", nil
}
