package export

import (
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Compilers are known by their names, under any prefix, and the argument of an option is no source.
func TestCompilations(t *testing.T) {
	response := func(name string) ([]string, bool) {
		if name == "args" {
			return splitResponse("-c 'a b.c' -DX=\\\"y\\ z\\\"\n-I\t\"in c\" ''"), true
		}
		return nil, false
	}
	for _, tt := range []struct {
		command string // with the path of the program before a colon, if it is not /usr/bin and the first argument
		sources string // and the output
	}{
		{"gcc -c a.c", "a.c"},
		{"gcc -c a.c -o a.o", "a.c a.o"},
		{"gcc -ca.c", ""},
		{"gcc -oa.o -c a.c", "a.c a.o"},
		{"gcc a.c b.c -o prog", "a.c b.c"},
		{"gcc a.o b.o -o prog", ""},
		{"gcc-14 -c a.c", "a.c"},
		{"x86_64-linux-gnu-gcc-14.2.0 -c a.c", "a.c"},
		{"arm-none-eabi-c++ -c a.cc", "a.cc"},
		{"clang++-19 -c a.cpp", "a.cpp"},
		{"c99 -c a.c", "a.c"},
		{"gcc-ar -c a.c", ""},
		{"clang-tidy-19 a.c", ""},
		{"clang-format a.c", ""},
		{"ld a.c", ""},
		{"cc1 a.c", ""},
		{"collect2 a.c", ""},
		{"tgcc -c a.c", ""},
		{"clang -cc1 a.c", ""},
		{"ccache gcc -c a.c", "a.c"},
		{"ccache distcc clang -c a.c", "a.c"},
		{"ccache base_dir=/x gcc -c a.c", "a.c"},
		{"ccache -s", ""},
		{"ccache", ""},
		{"ccache ls a.c", ""},
		{"distcc", ""},
		{"/usr/lib/ccache/gcc:gcc -c a.c", "a.c"},
		{"./cc:/bin/sh ./cc -c a.c", "a.c"},
		{"./cc:/usr/bin/env sh ./cc -c a.c", "a.c"},
		{"gcc -x c -c a.txt", "a.txt"},
		{"gcc -xc++ -c a.txt", "a.txt"},
		{"gcc -x c a.txt -x none b.txt", "a.txt"},
		{"gcc -x f95 -c a.c", ""},
		{"gcc -x c -", ""},
		{"gcc -c -I a.c -D b.c -include c.c -MF d.c -Xclang e.c f.c", "f.c"},
		{"gcc -E a.c", ""},
		{"gcc -M a.c", ""},
		{"gcc -MD -c a.c", "a.c"},
		{"gcc -c a.S b.s c.i d.ii e.h", "a.S b.s"},
		{"clang -c -- -a.c", "-a.c"},
		{"gcc @args", "a b.c"},
		{"gcc @missing -c", ""},
		{"gcc", ""},
		{"gcc --version", ""},
		{"gcc -o", ""},
		{"gcc -x", ""},
	} {
		path, command, ok := strings.Cut(tt.command, ":")
		if !ok {
			command = path
			path = "/usr/bin/" + strings.Fields(command)[0]
		}
		args := compilerOf(&posixtrace.ExecData{Path: path, Argv: strings.Fields(command)})
		var got []string
		if args != nil {
			if c := compilationOf(args, response); c != nil {
				for _, i := range c.sources {
					if got = append(got, c.args[i]); !slices.Contains(c.of(i), c.args[i]) {
						t.Errorf("%s: %q lacks the source", tt.command, c.of(i))
					}
				}
				if c.output != "" {
					got = append(got, c.output)
				}
			}
		}
		if text := strings.Join(got, " "); text != tt.sources && tt.sources != "a b.c" || tt.sources == "a b.c" && !slices.Equal(got, []string{"a b.c"}) {
			t.Errorf("%s: compiles %q, want %q", tt.command, text, tt.sources)
		}
	}
	if got, want := splitResponse(`a 'b c' "d\"e" f\ g ''`), []string{"a", "b c", `d"e`, "f g", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Hostile arguments take bounded time and memory.
func FuzzCompilation(f *testing.F) {
	for _, s := range []string{"gcc\x00-c\x00a.c", "gcc\x00@x", "ccache\x00\x00", "cc\x00--\x00-", "/bin/sh\x00cc\x00-x"} {
		f.Add("cc", s, "@x @x 'a\\")
	}
	f.Fuzz(func(t *testing.T, path, argv, response string) {
		d := posixtrace.ExecData{Path: path, Argv: strings.Split(argv, "\x00")}
		args := compilerOf(&d)
		if args == nil {
			return
		}
		n := 0
		c := compilationOf(args, func(string) ([]string, bool) { n++; return splitResponse(response), true })
		if n > maxResponseFiles {
			t.Fatalf("%d response files", n)
		}
		if c == nil {
			return
		}
		if len(c.args) > len(d.Argv)+maxArguments+len(response) || len(c.sources) > maxSources {
			t.Fatalf("%d arguments and %d sources", len(c.args), len(c.sources))
		}
		for _, i := range c.sources {
			if got := c.of(i); len(got) != len(c.args)-len(c.sources)+1 {
				t.Fatalf("%q of %q", got, c.args)
			}
		}
	})
}
