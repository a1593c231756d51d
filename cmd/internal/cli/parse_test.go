package cli

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testOptions = []Option{
	{Short: 'a', Long: "all"},
	{Short: 'b', Long: "brief"},
	{Short: 'o', Long: "output", Arg: "FILE"},
	{Short: 'n', Long: "number", Arg: "N"},
	{Long: "other", Arg: "X"},
	{Short: 'c', Long: "capture", Arg: "SET", Optional: true},
	{Short: 'i', Long: "inherit", Arg: "YN", Choices: []string{"yes", "no"}},
	{Short: 'h', Long: "help"},
	{Short: 'V', Long: "version"},
	{Long: "secret", Hidden: true},
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in      string // arguments, separated by spaces; ~ is an empty one
		want    string // the strict form, or "!" and the error
		inOrder bool
		groups  bool
	}{
		{in: "", want: "--"},
		{in: "x y", want: "-- x y"},
		{in: "-", want: "-- -"},
		{in: "-a", want: "--all= --"},
		{in: "-ab", want: "--all= --brief= --"},
		{in: "-ofile", want: "--output=file --"},
		{in: "-o file", want: "--output=file --"},
		{in: "-abofile x", want: "--all= --brief= --output=file -- x"},
		{in: "-abo file x", want: "--all= --brief= --output=file -- x"},
		{in: "-oa=b", want: "--output=a=b --"},
		{in: "-o=x", want: "--output==x --"},
		{in: "-n -5", want: "--number=-5 --"},
		{in: "-n5", want: "--number=5 --"},
		{in: "-o --", want: "--output=-- --"},
		{in: "--output file", want: "--output=file --"},
		{in: "--output=file", want: "--output=file --"},
		{in: "--output=", want: "--output= --"},
		{in: "--output ~", want: "--output= --"},
		{in: "--output --all", want: "--output=--all --"},
		{in: "--out=f", want: "--output=f --"},
		{in: "--outp f", want: "--output=f --"},
		{in: "--a", want: "--all= --"},
		{in: "-c x", want: "--capture= -- x"},
		{in: "-ca", want: "--capture= --all= --"},
		{in: "--capture x", want: "--capture= -- x"},
		{in: "--capture=out", want: "--capture=out --"},
		{in: "-iyes", want: "--inherit=yes --"},
		{in: "-i no", want: "--inherit=no --"},

		{in: "x -a y", want: "--all= -- x y"},
		{in: "x -a y", want: "-- x -a y", inOrder: true},
		{in: "-a x -b", want: "--all= -- x -b", inOrder: true},
		{in: "-a -- -b", want: "--all= -- -b"},
		{in: "-- -- x", want: "-- -- x"},
		{in: "x -- -b", want: "-- x -b"},
		{in: "x -- -b", want: "-- x -- -b", inOrder: true},
		{in: "- -a", want: "-- - -a", inOrder: true},
		{in: "x -a -- y -b", want: "--all= -- x -- y -b", groups: true},
		{in: "-- x -- y", want: "-- x -- y", groups: true},
		{in: "-- -- y", want: "-- -- y", groups: true},
		{in: "-a -- y", want: "--all= -- y", groups: true},
		{in: "x --", want: "-- x --", groups: true},
		{in: "x -- -a", want: "-- x -- -a", inOrder: true, groups: true},
		{in: "~ -a", want: "--all= -- ~"},
		{in: "-n1 -n2", want: "--number=1 --number=2 --"},

		{in: "-h --nonsense", want: "--help="},
		{in: "-aV", want: "--all= --version="},
		{in: "--nonsense -h", want: "!unrecognized option '--nonsense'"},

		{in: "-z", want: "!invalid option -- 'z'"},
		{in: "-az", want: "!invalid option -- 'z'"},
		{in: "-é", want: "!invalid option -- 'é'"},
		{in: "-o", want: "!option requires an argument -- 'o'"},
		{in: "-ao", want: "!option requires an argument -- 'o'"},
		{in: "--output", want: "!option '--output' requires an argument"},
		{in: "--all=x", want: "!option '--all' doesn't allow an argument"},
		{in: "--all=", want: "!option '--all' doesn't allow an argument"},
		{in: "--all=false", want: "!option '--all' doesn't allow an argument"},
		{in: "--o=x", want: "!option '--o' is ambiguous; possibilities: '--output' '--other'"},
		{in: "--=x", want: "!unrecognized option '--'"},
		{in: "--x", want: "!unrecognized option '--x'"},
		{in: "--sec", want: "!unrecognized option '--sec'"},
		{in: "--secret", want: "--secret= --"},
		{in: "-output", want: "!unrecognized option '-output'; did you mean '--output'?"},
		{in: "-all", want: "!unrecognized option '-all'; did you mean '--all'?"},
		{in: "-imaybe", want: "!invalid argument 'maybe' for '--inherit'; valid: yes, no"},
		{in: "--inherit=", want: "!invalid argument '' for '--inherit'; valid: yes, no"},
		{in: "---", want: "!unrecognized option '---'"},
	} {
		args, err := parse(testOptions, splitArgs(tt.in), tt.inOrder, tt.groups)
		got := ""
		if err != nil {
			got = "!" + err.Error()
		} else {
			got = joinArgs(strict(args))
		}
		if got != tt.want {
			t.Errorf("parse(%q, inOrder %v) = %q, want %q", tt.in, tt.inOrder, got, tt.want)
		}
	}
}

// strict writes a parsed command line in one form: each option as --long=value, then --, then
// the operands. Nothing follows an option that ends the line.
func strict(args *Args) (words []string) {
	for _, g := range args.Given {
		words = append(words, "--"+g.Name+"="+g.Value)
	}
	if args.Has("help") || args.Has("version") {
		return words
	}
	return append(append(words, "--"), args.Operands...)
}

func splitArgs(s string) (args []string) {
	for _, a := range strings.Fields(s) {
		if a == "~" {
			a = ""
		}
		args = append(args, a)
	}
	return args
}

func joinArgs(args []string) string {
	var b []string
	for _, a := range args {
		if a == "" {
			a = "~"
		}
		b = append(b, a)
	}
	return strings.Join(b, " ")
}

// A command line that was parsed and is written in the strict form parses to the same again.
func FuzzArgs(f *testing.F) {
	for _, s := range []string{"-abofile\x00x", "--out\x00f\x00--\x00-a", "-n\x00-5", "--capture=x\x00y", "-h"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, s string, inOrder bool) {
		argv := strings.Split(s, "\x00")
		once, err := parse(testOptions, argv, inOrder, false)
		if err != nil {
			if strings.Contains(err.Error(), "\n") && !strings.Contains(s, "\n") {
				t.Fatalf("parse(%q): error of several lines: %v", argv, err)
			}
			return
		}
		words := strict(once)
		for i, g := range once.Given {
			o := findLong(testOptions, g.Name)
			if o == nil {
				t.Fatalf("parse(%q) has an unknown option %q", argv, g.Name)
			}
			// A switch takes no value on a real command line.
			if g.Value == "" && (o.Arg == "" || o.Optional) {
				words[i] = "--" + g.Name
			}
		}
		twice, err := parse(testOptions, words, inOrder, false)
		if d := cmp.Diff(strict(once), strict(twice)); err != nil || d != "" {
			t.Fatalf("parse(%q) a second time: %v\n%s", argv, err, d)
		}
	})
}

// Only hidden options are a program's own arguments.
func TestOwnArguments(t *testing.T) {
	opts := []Option{{Long: "secret", Arg: "N", Hidden: true}, {Long: "open", Arg: "N"}}
	for _, c := range []struct {
		argv string
		want *Args
	}{
		{"--secret=3 -- a --secret", &Args{Given: []Given{{"secret", "3"}}, Operands: []string{"a", "--secret"}}},
		{"--secret=3", &Args{Given: []Given{{"secret", "3"}}}},
		{"--secret=3 --open=4 -- a", nil},
		{"--secret=3 a", nil},
		{"--open=4", nil},
		{"secret=3", nil},
		{"a", nil},
		{"-- a", nil},
		{"", nil},
	} {
		if got := own(opts, strings.Fields(c.argv)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, want %+v", c.argv, got, c.want)
		}
	}
}
