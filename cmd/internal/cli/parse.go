package cli

import (
	"slices"
	"strings"
)

// parse reads a command line as POSIX and GNU users write it: attached and separate
// option-arguments, grouped short options, unique prefixes of long names, and options after
// operands unless inOrder is set. An option -h or -V ends the line: the rest is ignored. If groups
// is set, a "--" behind an operand is an operand, too.
func parse(opts []Option, argv []string, inOrder, groups bool) (*Args, error) {
	p := parser{opts: opts, left: argv, args: &Args{}}
	for len(p.left) > 0 && !p.ended {
		arg, _ := p.next()
		var err error
		switch {
		case arg == "--":
			if groups && len(p.args.Operands) > 0 {
				p.args.Operands = append(p.args.Operands, arg)
			}
			p.takeRest()
		case strings.HasPrefix(arg, "--"):
			err = p.long(arg[2:])
		case len(arg) > 1 && arg[0] == '-':
			err = p.group(arg)
		default:
			p.args.Operands = append(p.args.Operands, arg)
			if inOrder {
				p.takeRest()
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return p.args, nil
}

// parser is the state of parse.
type parser struct {
	opts  []Option
	left  []string // the words that parse has not read yet
	args  *Args
	ended bool // by -h or -V
}

// next returns the next word of the command line.
func (p *parser) next() (word string, ok bool) {
	if len(p.left) == 0 {
		return "", false
	}
	word, p.left = p.left[0], p.left[1:]
	return word, true
}

// takeRest makes all words that are left operands.
func (p *parser) takeRest() {
	p.args.Operands = append(p.args.Operands, p.left...)
	p.left = nil
}

// give records an option with its value.
func (p *parser) give(o *Option, value string) {
	p.args.Given = append(p.args.Given, Given{o.Long, value})
	if o.Long == "help" || o.Long == "version" {
		p.ended = true
		p.args.Operands = nil
	}
}

// long reads a long option. text is the word without the two hyphens.
func (p *parser) long(text string) error {
	name, value, attached := strings.Cut(text, "=")
	o, err := p.findPrefix(name)
	if err != nil {
		return err
	}
	switch {
	case o.Arg == "" && attached:
		return Usagef("option '--%s' doesn't allow an argument", o.Long)
	case o.Arg != "" && !attached && !o.Optional:
		if value, attached = p.next(); !attached {
			return Usagef("option '--%s' requires an argument", o.Long)
		}
	}
	if attached {
		if err := checkChoice(o, value); err != nil {
			return err
		}
	}
	p.give(o, value)
	return nil
}

// findPrefix returns the option of this long name, or the only one whose name begins so.
func (p *parser) findPrefix(name string) (*Option, error) {
	if o := findLong(p.opts, name); o != nil {
		return o, nil
	}
	var o *Option
	var candidates []string
	for i := range p.opts {
		if strings.HasPrefix(p.opts[i].Long, name) && !p.opts[i].Hidden {
			o = &p.opts[i]
			candidates = append(candidates, "'--"+o.Long+"'")
		}
	}
	switch {
	case len(candidates) == 0 || name == "":
		return nil, Usagef("unrecognized option '--%s'", name)
	case len(candidates) > 1:
		return nil, Usagef("option '--%s' is ambiguous; possibilities: %s", name, strings.Join(candidates, " "))
	}
	return o, nil
}

// group reads a word of short options, the last of them perhaps with its argument.
func (p *parser) group(word string) error {
	group := word[1:]
	if o := findLong(p.opts, group); o != nil && len(group) > 1 {
		return Usagef("unrecognized option '%s'; did you mean '--%s'?", word, o.Long)
	}
	for group != "" && !p.ended {
		o := findShort(p.opts, group[0])
		if o == nil {
			return Usagef("invalid option -- '%s'", firstCharacter(group))
		}
		group = group[1:]
		if o.Arg == "" || o.Optional {
			p.give(o, "")
			continue
		}
		value := group
		if group = ""; value == "" {
			var ok bool
			if value, ok = p.next(); !ok {
				return Usagef("option requires an argument -- '%c'", o.Short)
			}
		}
		if err := checkChoice(o, value); err != nil {
			return err
		}
		p.give(o, value)
	}
	return nil
}

func findLong(opts []Option, name string) *Option {
	for i := range opts {
		if opts[i].Long == name {
			return &opts[i]
		}
	}
	return nil
}

func findShort(opts []Option, short byte) *Option {
	for i := range opts {
		if opts[i].Short == short {
			return &opts[i]
		}
	}
	return nil
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
	if o.Choices == nil || slices.Contains(o.Choices, value) {
		return nil
	}
	return Usagef("invalid argument '%s' for '--%s'; valid: %s", value, o.Long, strings.Join(o.Choices, ", "))
}
