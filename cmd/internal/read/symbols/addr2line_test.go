package symbols

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// execute runs a compiler or another tool that a test needs.
func execute(t *testing.T, dir, name string, arg ...string) string {
	t.Helper()
	tracetest.NeedProgram(t, name)
	cmd := exec.Command(name, arg...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, arg, err, errs.Bytes())
	}
	return out.String()
}

// source writes a program in C++: namespaces, templates, inlining and many functions.
func source(t *testing.T, dir string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("#include <cstdio>\nnamespace some { template <class T> struct box { T v; __attribute__((noinline)) T twice(int n) {\n\tfor (int i = 0; i < n; i++)\n\t\tv += v ^ i;\n\treturn v; } };\n")
	b.WriteString("static inline int mix(int x) {\n\tx *= 31;\n\tif (x & 64)\n\t\tx ^= 12345;\n\treturn x;\n}\n")
	for i := range 60 {
		fmt.Fprintf(&b, "__attribute__((noinline)) long f%d(long n, const char *s) {\n\tbox<long> b{n};\n\tlong x = mix(n + %d);\n\twhile (*s)\n\t\tx += mix(*s++);\n\treturn x + b.twice(%d);\n}\n", i, i, i)
	}
	b.WriteString("}\nextern \"C\" long all(long n) {\n\tlong x = 0;\n")
	for i := range 60 {
		fmt.Fprintf(&b, "\tx += some::f%d(n, \"%d\");\n", i, i)
	}
	b.WriteString("\treturn x;\n}\n#ifndef LIB\nint main(int argc, char **) { return (int)all(argc); }\n#endif\n")
	if err := os.WriteFile(filepath.Join(dir, "many.cc"), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// sample returns about n addresses in the functions of a symbol table.
func sample(t *testing.T, path string, n int) (list []uint64) {
	t.Helper()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	text := e.Section(".text")
	syms, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	total := uint64(0)
	in := func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value >= text.Addr && s.Value+s.Size <= text.Addr+text.Size
	}
	for _, s := range syms {
		if in(s) {
			total += s.Size
		}
	}
	step, next := max(total/uint64(n), 1), uint64(0)
	for _, s := range syms {
		if !in(s) {
			continue
		}
		for ; next < s.Size; next += step {
			list = append(list, s.Value+next)
		}
		next -= s.Size
	}
	if len(list) < n {
		t.Fatalf("%s has %d addresses", path, len(list))
	}
	return list
}

// answer is what addr2line says of an address. The function is the one that the machine code
// belongs to, not one that is inlined there.
type answer struct{ function, place string }

// ask asks addr2line.
func ask(t *testing.T, path string, list []uint64) map[uint64]answer {
	t.Helper()
	var in bytes.Buffer
	for _, a := range list {
		fmt.Fprintf(&in, "%x\n", a)
	}
	cmd := exec.Command("addr2line", "-a", "-f", "-i", "-C", "-e", path)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[uint64]answer)
	var at uint64
	var function string
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		line := s.Text()
		if v, ok := strings.CutPrefix(line, "0x"); ok {
			at, _ = strconv.ParseUint(v, 16, 64)
			function = ""
			continue
		}
		if function == "" {
			function = line
			continue
		}
		place, _, _ := strings.Cut(line, " (discriminator")
		if first, ok := all[at]; ok {
			place = first.place
		}
		all[at] = answer{function, place}
		function = ""
	}
	return all
}

// compare compares the places of a file with the answers of addr2line.
func compare(t *testing.T, f *file, path string, list []uint64) {
	t.Helper()
	want := ask(t, path, list)
	wrong := 0
	differs := func(at uint64, what, got, want string) {
		if wrong++; wrong < 10 {
			t.Logf("%s: %#x: %s %q, want %q", filepath.Base(path), at, what, got, want)
		}
	}
	lines := 0
	for _, at := range list {
		p, w := f.place(at), want[at]
		if p.Func != w.function && !alias(f, at, w.function) {
			differs(at, "function", p.Func, w.function)
		}
		// Without debug information, addr2line shows the name of an object file.
		if place := fmt.Sprint(p.File, ":", p.Line); !strings.HasSuffix(w.place, ":?") && w.place != "??:0" && place != w.place {
			differs(at, "line", place, w.place)
		} else if p.File != "" {
			lines++
		}
	}
	t.Logf("%s: %d addresses, %d with a line, %d differ", filepath.Base(path), len(list), lines, wrong)
	if wrong > len(list)/200 { // releases of addr2line differ, too
		t.Errorf("%s: %d of %d addresses differ", filepath.Base(path), wrong, len(list))
	}
	if lines == 0 {
		t.Errorf("%s: no lines", filepath.Base(path))
	}
}

// alias reports whether name is another name of the function at an address, or the name that its
// source has where the compiler has split it.
func alias(f *file, at uint64, name string) bool {
	s, ok := f.symbol(at)
	if !ok {
		return name == "??"
	}
	for _, o := range f.symbols {
		if n := readable(f.name(o)); o.address == s.address && (n == name || strings.HasPrefix(n, name+" [clone") || strings.HasPrefix(n, name+"@")) {
			return true
		}
	}
	return false
}

const addresses = 1000

func load(t *testing.T, table *Table, path string) *file {
	t.Helper()
	f, _, err := table.read(&Object{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Functions and lines are those of addr2line, in programs of each kind and in a library.
func TestAddr2line(t *testing.T) {
	for _, k := range []struct {
		name string
		args []string
	}{
		{"pie", []string{"-pie", "-fPIE"}},
		{"fixed", []string{"-no-pie"}},
		{"static", []string{"-static"}},
		{"shared", []string{"-shared", "-fPIC", "-DLIB"}},
		{"dwarf4", []string{"-gdwarf-4"}},
		{"unoptimized", []string{"-O0"}},
		{"compressed", []string{"-gz=zlib"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			source(t, dir)
			execute(t, dir, "g++", append([]string{"-g", "-O2", "-Wl,--build-id", "-o", k.name, "many.cc"}, k.args...)...)
			path := filepath.Join(dir, k.name)
			list := sample(t, path, addresses)
			compare(t, load(t, NewTable(), path), path, list)
		})
	}
}

// A stripped program has the functions and lines of its separate debug file, found by build id or
// by the name in the program.
func TestSeparateDebugFile(t *testing.T) {
	dir := t.TempDir()
	source(t, dir)
	execute(t, dir, "g++", "-g", "-O2", "-Wl,--build-id", "-o", "whole", "many.cc")
	whole := filepath.Join(dir, "whole")
	list := sample(t, whole, addresses)
	execute(t, dir, "objcopy", "--only-keep-debug", "whole", "whole.debug")
	execute(t, dir, "strip", "-o", "bare", "whole")
	bare := filepath.Join(dir, "bare")
	table := NewTable()
	table.DebugDirs = []string{filepath.Join(dir, "debug")}
	f := load(t, table, bare)
	if p := f.place(list[0]); p.File != "" {
		t.Errorf("a stripped program has a line: %v", p)
	}

	id := fmt.Sprintf("%x", f.buildID)
	store := filepath.Join(dir, "debug", ".build-id", id[:2])
	if err := os.MkdirAll(store, 0o777); err != nil {
		t.Fatal(err)
	}
	stored := filepath.Join(store, id[2:]+".debug")
	execute(t, dir, "cp", "whole.debug", stored)
	compare(t, load(t, table, bare), whole, list)
	if err := os.Remove(stored); err != nil {
		t.Fatal(err)
	}

	execute(t, dir, "objcopy", "--add-gnu-debuglink=whole.debug", "bare")
	compare(t, load(t, table, bare), whole, list)

	// The debug file of another program.
	execute(t, dir, "g++", "-g", "-O1", "-DLIB", "-shared", "-fPIC", "-Wl,--build-id", "-o", "whole.debug", "many.cc")
	if p := load(t, table, bare).place(list[0]); p.File != "" {
		t.Errorf("a debug file with another build id was used: %v", p)
	}
}

const goSource = `package main

import (
	"fmt"
	"os"
	"sort"
)

type box[T any] struct{ list []T }

//go:noinline
func (b *box[T]) add(v T) { b.list = append(b.list, v) }

func main() {
	var b box[string]
	for _, a := range os.Args {
		b.add(a)
	}
	sort.Strings(b.list)
	fmt.Println(b)
}
`

// Functions and lines of Go programs are those of go tool addr2line, also without symbol table.
func TestGoAddr2line(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": goSource, "go.mod": "module example\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []struct{ name, flag string }{{"plain", ""}, {"stripped", "-ldflags=-s -w"}, {"pie", "-buildmode=pie"}} {
		t.Run(k.name, func(t *testing.T) {
			args := []string{"build", "-o", k.name}
			if k.flag != "" {
				args = append(args, k.flag)
			}
			execute(t, dir, "go", append(args, ".")...)
			path := filepath.Join(dir, k.name)
			f := load(t, NewTable(), path)
			var list []uint64
			if k.name == "stripped" {
				text, step := f.golang.table.Funcs, 0
				for i := range text {
					for at := text[i].Entry; at < text[i].End; at++ {
						if step++; step%600 == 0 {
							list = append(list, at)
						}
					}
				}
			} else {
				list = sample(t, path, addresses)
			}
			var in strings.Builder
			for _, at := range list {
				fmt.Fprintf(&in, "%x\n", at)
			}
			cmd := exec.Command("go", "tool", "addr2line", path)
			cmd.Stdin = strings.NewReader(in.String())
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(out), "\n")
			if len(lines) < 2*len(list) {
				t.Fatalf("%d lines for %d addresses", len(lines), len(list))
			}
			wrong := 0
			for i, at := range list {
				p := f.place(at)
				got, want := fmt.Sprintf("%s %s:%d", p.Func, p.File, p.Line), lines[2*i]+" "+strings.Replace(lines[2*i+1], ":-1", ":0", 1)
				if got != want {
					if wrong++; wrong < 10 {
						t.Errorf("%#x: %s, want %s", at, got, want)
					}
				}
			}
			t.Logf("%d addresses, %d differ", len(list), wrong)
		})
	}
}
