package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Option is one option of a command.
type Option struct {
	Short    byte     // 0 for none
	Long     string   // required: the code finds the option by it
	Arg      string   // placeholder of the option-argument in the help; "" for a switch
	Optional bool     // the option-argument may be left out, and needs --long=ARG
	Choices  []string // the valid option-arguments; nil for any
	Help     string
	Hidden   bool // for the programs' own use: not in the help

	Excludes []Exclusion // options that this one excludes
	OnlyWith []string    // options that this one allows, besides --color; nil for all
	Needs    Need        // options of which this one needs one
	Verbs    []string    // in a command with verbs: verbs that take the option; nil for all
	SameRow  bool        // help shows it in the row of the option before it
}

var commonOptions = []Option{
	{Long: "color", Arg: "WHEN", Choices: []string{"auto", "always", "never"}, Help: "use colour: auto, always or never"},
	{Short: 'h', Long: "help", Help: "show this help and exit"},
	{Short: 'V', Long: "version", Help: "show the version and exit", SameRow: true},
}

func (c *Command) AllOptions() []Option {
	return append(append([]Option{}, c.Options...), commonOptions...)
}

// Given is one option on the command line.
type Given struct {
	Name  string // the long name
	Value string // "" for a switch
}

// Args is a parsed command line.
type Args struct {
	Given    []Given // in command line order
	Operands []string
}

// own returns the arguments of a program that started itself again: hidden options with
// values, and operands after "--". It returns nil for a user's command line. The library
// would take as long as the rest of such a start.
func own(opts []Option, argv []string) *Args {
	args := &Args{}
	for i, arg := range argv {
		if arg == "--" {
			args.Operands = argv[i+1:]
			break
		}
		option, value, _ := strings.Cut(arg, "=")
		name := strings.TrimPrefix(option, "--")
		if !slices.ContainsFunc(opts, func(o Option) bool { return o.Hidden && "--"+o.Long == option }) {
			return nil
		}
		args.Given = append(args.Given, Given{name, value})
	}
	if len(args.Given) == 0 {
		return nil
	}
	return args
}

// Has reports whether the option was given.
func (a *Args) Has(name string) bool {
	_, ok := a.Lookup(name)
	return ok
}

// Lookup returns the last value given for an option.
func (a *Args) Lookup(name string) (string, bool) {
	for i := len(a.Given) - 1; i >= 0; i-- {
		if a.Given[i].Name == name {
			return a.Given[i].Value, true
		}
	}
	return "", false
}

// Value returns the last value given for an option, or "".
func (a *Args) Value(name string) string {
	v, _ := a.Lookup(name)
	return v
}

// All returns all values given for an option, in order.
func (a *Args) All(name string) (vs []string) {
	for _, g := range a.Given {
		if g.Name == name {
			vs = append(vs, g.Value)
		}
	}
	return vs
}

// Size returns the value of an option as a size, or def if it was not given.
func (a *Args) Size(name string, def int64) (int64, error) {
	v, ok := a.Lookup(name)
	if !ok {
		return def, nil
	}
	n, err := ParseSize(v)
	if err != nil {
		return 0, BadValue(name, v, err)
	}
	return n, nil
}

// Duration returns the value of an option as a duration, or def if it was not given.
func (a *Args) Duration(name string, def time.Duration) (time.Duration, error) {
	v, ok := a.Lookup(name)
	if !ok {
		return def, nil
	}
	d, err := ParseDuration(v)
	if err != nil {
		return 0, BadValue(name, v, err)
	}
	return d, nil
}

// Count returns the value of an option as a count, or def if it was not given.
func (a *Args) Count(name string, def int) (int, error) {
	v, ok := a.Lookup(name)
	if !ok {
		return def, nil
	}
	n, err := ParseDigits(v)
	if err == nil && int64(int(n)) != n {
		err = ErrTooLarge
	}
	if err != nil {
		return 0, BadValue(name, v, err)
	}
	return int(n), nil
}

// PID returns the value of an option as a process id, or def if it was not given.
func (a *Args) PID(name string, def int) (int, error) {
	n, err := a.Count(name, def)
	if err == nil && a.Has(name) && (n <= 0 || n > 1<<22) {
		err = BadValue(name, strconv.Itoa(n), ErrPID)
	}
	return n, err
}

// IDs returns the values of an option as ids of processes or threads.
func (a *Args) IDs(name string) (ids []int, err error) {
	for _, v := range a.All(name) {
		n, err := ParseDigits(v)
		if err != nil || n > 1<<31-1 {
			return nil, BadValue(name, v, ErrPID)
		}
		ids = append(ids, int(n))
	}
	return ids, nil
}

func BadValue(option, value string, err error) error {
	return Usagef("invalid argument '%s' for '--%s': %v", value, option, err)
}
