// Layout writes the C header of the files that the Go package and the C library share: streams,
// pages and names, and that of the memory that the C library shares with its agent. It reads the Go source, so that both sides have one definition.
//
// usage: layout DIRECTORY
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: layout DIRECTORY")
	}
	for _, h := range headers {
		text, err := h.text()
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], h.name), text, 0o644)
		}
		if err != nil {
			log.Fatal("layout: ", err)
		}
	}
}

// header is a C header to write.
type header struct {
	name, guard string
	parts       []part
}

var headers = []header{
	{"layout.h", "PXT_LAYOUT_H", parts},
	{"wire.h", "PXT_WIRE_H", wire},
}

// part is a package, of which C needs the constants whose names match, with a prefix, and the structs.
type part struct {
	dir, prefix string
	constants   *regexp.Regexp
	structs     []string
	more        func(b *bytes.Buffer, p *types.Package) error // writes the rest, or nil
}

// wire is what the library and its agent share.
var wire = []part{
	{"../../../cmd/internal/agent/wire", "PXT_W_", regexp.MustCompile(`.`), []string{"Call", "Batch", "Area", "Channel", "Item", "Status"}, nil},
}

// parts are the files that the traced process shares with the Go package.
var parts = []part{
	{"attr", "PXT_ATTR_", regexp.MustCompile(`^$`), []string{"Time"}, writeAttributes},
	{"event", "PXT_EV_", regexp.MustCompile(`^(Unnamed|FirstUser|FirstDynamic|Max|NameMax|SetWords|Error|Start|Stop|Filter|Overflow|Resume|FlushStart|FlushStop|ProcFork|ProcMap|MaxEncodedSet)$`), nil, nil},
	{"chunk", "PXT_CK_", regexp.MustCompile(`.`), nil, nil},
	{"stream", "PXT_", regexp.MustCompile(`^((off|count|slot|gen|state|busy|tag|idx|loss|site)(Bits|Shift|Mask|Bit|Cache)|busyBit|noChunk|frozenBit|wasCleared|` +
		`free|claiming|owned|open|full|leaving|partial|Running|Full|LogFull|NoRestart|StopReported|Dead|filterB|filterChange|lossB|stateGen|stateFlags|` +
		`MaxSlots|MaxMaps|mapShare|leastNotes|max(Permits|OpenChunks|Anchors|File|Lead|Lost)|MaxPatterns?|patternSize|Clock[A-Z].*|Loop|UntilFull|Flush|Append|reserved|replacedShift|displaced|somePartial|` +
		`unfixed|skew|far(Back|Behind)|descSize|headerSize|MaxSystemData|version|StartSize|spread|lookAgain|.*Tries|horizonStep|pageSize)$`), []string{"stable", "fixed", "account", "markWords", "front", "desc", "header"}, nil},
	{"registry", "PXT_PG_", regexp.MustCompile(`^(page.*|off.*|ent[A-Z].*|entrySize|recHeader|rec[A-Z].*|MaxStreams|Self|Inherit|Child|class.*|names.*|.*Mode)$`), nil, nil},
}

// text returns the text of the header.
func (h *header) text() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `/* Written by go generate from the Go source. Do not edit. */
#ifndef %[1]s
#define %[1]s
#include <stddef.h>
#include <stdint.h>
`, h.guard)
	for _, part := range h.parts {
		p, err := load(part.dir)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n/* %s */\n", filepath.Base(part.dir))
		for _, name := range p.Scope().Names() {
			if c, ok := p.Scope().Lookup(name).(*types.Const); ok && part.constants.MatchString(name) {
				writeConstant(&b, part.prefix+name, c)
			}
		}
		for _, name := range part.structs {
			if err := writeStruct(&b, p, name); err != nil {
				return nil, err
			}
		}
		if part.more != nil {
			if err := part.more(&b, p); err != nil {
				return nil, err
			}
		}
	}
	b.WriteString("\n#endif\n")
	return b.Bytes(), nil
}

var (
	fset     = token.NewFileSet()
	imported = importer.ForCompiler(fset, "source", nil) // each package once: that takes most of the time
)

// load type-checks an internal package as it is built for linux/amd64. Function bodies do not matter.
func load(dir string) (*types.Package, error) {
	_, self, _, _ := runtime.Caller(0)
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = "linux", "amd64", false
	dir = filepath.Join(filepath.Dir(self), "../../pkg/posixtrace/internal", dir)
	pkg, err := ctx.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: imported, IgnoreFuncBodies: true, Sizes: sizes}
	return conf.Check(dir, fset, files, nil)
}

// sizes holds on arm64, too: the layout is the same on all supported architectures.
var sizes = types.SizesFor("gc", "amd64")

func writeConstant(b *bytes.Buffer, name string, c *types.Const) {
	v := constant.ToInt(c.Val())
	if v.Kind() != constant.Int {
		return
	}
	if u, ok := constant.Uint64Val(v); ok && u > 1<<31-1 {
		fmt.Fprintf(b, "#define %s UINT64_C(%#x)\n", name, u)
		return
	}
	fmt.Fprintf(b, "#define %s %s\n", name, v.ExactString())
}

func writeStruct(b *bytes.Buffer, p *types.Package, name string) error {
	o := p.Scope().Lookup(name)
	if o == nil {
		return fmt.Errorf("%s has no type %s", p.Path(), name)
	}
	s, ok := o.Type().Underlying().(*types.Struct)
	if !ok {
		return fmt.Errorf("%s is no struct", name)
	}
	var fields []*types.Var
	for f := range s.Fields() {
		fields = append(fields, f)
	}
	fmt.Fprintf(b, "\nstruct %s {\n", cname(name))
	for i, f := range fields {
		base, dims, err := ctype(f.Type())
		if err != nil {
			return fmt.Errorf("%s.%s: %v", name, f.Name(), err)
		}
		name := member(f.Name())
		if name == "_" {
			name = fmt.Sprintf("unused%d", i)
		}
		fmt.Fprintf(b, "\t%s %s%s;\n", base, name, dims)
	}
	fmt.Fprintf(b, "};\n_Static_assert(sizeof(struct %s) == %d, \"layout\");\n", cname(name), sizes.Sizeof(s))
	for i, at := range sizes.Offsetsof(fields) {
		if n := fields[i].Name(); n != "_" {
			fmt.Fprintf(b, "_Static_assert(offsetof(struct %s, %s) == %d, \"layout\");\n", cname(name), member(n), at)
		}
	}
	return nil
}

// cname and member are the C names of a struct and of a member, whose Go names may be exported.
func cname(name string) string { return "pxt_" + member(name) }

func member(name string) string {
	if strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return strings.ToLower(name[:1]) + name[1:]
}

var atomics = map[string]string{"Uint64": "_Atomic uint64_t", "Uint32": "_Atomic uint32_t"}

var basics = map[types.BasicKind]string{
	types.Uint8: "uint8_t", types.Uint32: "uint32_t", types.Uint64: "uint64_t", types.Int32: "int32_t", types.Int64: "int64_t",
}

// ctype returns the C type of a member, and the dimensions that follow its name.
func ctype(t types.Type) (base, dims string, err error) {
	switch u := t.(type) {
	case *types.Named:
		if o := u.Obj(); o.Pkg() != nil && o.Pkg().Path() == "sync/atomic" {
			if base = atomics[o.Name()]; base != "" {
				return base, "", nil
			}
			break
		} else if o.Pkg() != nil && o.Pkg().Name() == "attr" && o.Name() == "Block" {
			return "struct pxt_attributes", "", nil
		}
		if _, ok := u.Underlying().(*types.Struct); ok {
			return "struct " + cname(u.Obj().Name()), "", nil
		}
		return ctype(u.Underlying())
	case *types.Array:
		base, dims, err = ctype(u.Elem())
		return base, fmt.Sprintf("[%d]%s", u.Len(), dims), err
	case *types.Basic:
		if base = basics[u.Kind()]; base != "" {
			return base, "", nil
		}
	}
	return "", "", fmt.Errorf("no C type for %s", t)
}
