package cli

import (
	"strings"
)

// normalise turns a command line as POSIX and GNU users write it into the one
// form that the option library understands without surprises: every option as
// --long=value, then --, then the operands. It knows attached and separate
// arguments, grouped short options, unique prefixes of long names, and options
// after operands unless inOrder is set. An option -h or -V ends the reading, as
// it would if options were acted on one by one.
func normalise(opts []Option, argv []string, inOrder bool) ([]string, error) {
	var out, operands []string
	emit := func(o *Option, value string) (stop bool) {
		out = append(out, "--"+o.Long+"="+value)
		return o.Long == "help" || o.Long == "version"
	}
	for i := 0; i < len(argv); i++ {
		arg := argv[i]
		next := func() (string, bool) {
			if i+1 >= len(argv) {
				return "", false
			}
			i++
			return argv[i], true
		}
		switch {
		case arg == "--":
			operands = append(operands, argv[i+1:]...)
			i = len(argv)

		case strings.HasPrefix(arg, "--"):
			o, value, err := longOption(opts, arg, next)
			if err != nil {
				return nil, err
			}
			if emit(o, value) {
				return out, nil
			}

		case len(arg) > 1 && arg[0] == '-':
			if o := findLong(opts, arg[1:]); o != nil && len(arg) > 2 {
				return nil, Usagef("unrecognized option '%s'; did you mean '--%s'?", arg, o.Long)
			}
			for group := arg[1:]; group != ""; {
				o, value, rest, err := shortOption(opts, group, next)
				if err != nil {
					return nil, err
				}
				if emit(o, value) {
					return out, nil
				}
				group = rest
			}

		default:
			if inOrder {
				operands = append(operands, argv[i:]...)
				i = len(argv)
			} else {
				operands = append(operands, arg)
			}
		}
	}
	return append(append(out, "--"), operands...), nil
}

func findLong(opts []Option, name string) *Option {
	for i := range opts {
		if opts[i].Long == name {
			return &opts[i]
		}
	}
	return nil
}

func longOption(opts []Option, arg string, next func() (string, bool)) (o *Option, value string, err error) {
	name, value, attached := strings.Cut(arg[2:], "=")
	if o = findLong(opts, name); o == nil {
		var candidates []string
		for i := range opts {
			if strings.HasPrefix(opts[i].Long, name) && !opts[i].Hidden {
				o = &opts[i]
				candidates = append(candidates, "'--"+o.Long+"'")
			}
		}
		switch {
		case len(candidates) == 0 || name == "":
			return nil, "", Usagef("unrecognized option '--%s'", name)
		case len(candidates) > 1:
			return nil, "", Usagef("option '--%s' is ambiguous; possibilities: %s", name, strings.Join(candidates, " "))
		}
	}
	switch {
	case o.Arg == "" && attached:
		return nil, "", Usagef("option '--%s' doesn't allow an argument", o.Long)
	case o.Arg != "" && !attached && !o.Optional:
		if value, attached = next(); !attached {
			return nil, "", Usagef("option '--%s' requires an argument", o.Long)
		}
	}
	if attached {
		err = checkChoice(o, value)
	}
	return o, value, err
}

// shortOption reads the first option of a group and returns what is left of it.
func shortOption(opts []Option, group string, next func() (string, bool)) (o *Option, value, rest string, err error) {
	for i := range opts {
		if opts[i].Short == group[0] {
			o = &opts[i]
		}
	}
	if o == nil {
		return nil, "", "", Usagef("invalid option -- '%s'", firstCharacter(group))
	}
	if o.Arg == "" || o.Optional {
		return o, "", group[1:], nil
	}
	if value = group[1:]; value == "" {
		var ok bool
		if value, ok = next(); !ok {
			return nil, "", "", Usagef("option requires an argument -- '%c'", o.Short)
		}
	}
	return o, value, "", checkChoice(o, value)
}

func firstCharacter(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

func checkChoice(o *Option, value string) error {
	if o.Choices == nil {
		return nil
	}
	for _, c := range o.Choices {
		if value == c {
			return nil
		}
	}
	return Usagef("invalid argument '%s' for '--%s'; valid: %s", value, o.Long, strings.Join(o.Choices, ", "))
}
