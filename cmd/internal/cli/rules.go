package cli

import (
	"slices"
	"strings"
)

// Exclusion names options that an option excludes.
type Exclusion struct {
	Options []string
	Text    string // the message; "" for "--x and --y exclude each other"
}

// Excludes returns the exclusion of some options with the usual message.
func Excludes(options ...string) []Exclusion { return []Exclusion{{Options: options}} }

// Need names options of which an option needs one.
type Need struct {
	AnyOf []string
	Text  string // the message; "" for "--x is for --y and --z"
}

// Needs returns the need for one of some options with the usual message.
func Needs(options ...string) Need { return Need{AnyOf: options} }

// checkRules returns a usage error if options were given that exclude each other, or one
// without an option that it needs. It reports the first violation in the order of opts.
func checkRules(opts []Option, args *Args) error {
	for i := range opts {
		if o := &opts[i]; args.Has(o.Long) {
			if err := o.checkNeeds(args); err != nil {
				return err
			}
		}
	}
	for i := range opts {
		if o := &opts[i]; args.Has(o.Long) {
			if err := o.checkExcludes(args); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Option) checkNeeds(args *Args) error {
	need := o.Needs.AnyOf
	switch {
	case need == nil || slices.ContainsFunc(need, args.Has):
		return nil
	case o.Needs.Text != "":
		return Usagef("%s", o.Needs.Text)
	}
	return Usagef("--%s is for --%s", o.Long, strings.Join(need, " and --"))
}

func (o *Option) checkExcludes(args *Args) error {
	for _, e := range o.Excludes {
		i := slices.IndexFunc(e.Options, args.Has)
		switch {
		case i < 0:
		case e.Text != "":
			return Usagef("%s", e.Text)
		default:
			return excluded(o.Long, e.Options[i])
		}
	}
	if o.OnlyWith == nil {
		return nil
	}
	for _, g := range args.Given {
		if g.Name != o.Long && g.Name != "color" && !slices.Contains(o.OnlyWith, g.Name) {
			return excluded(o.Long, g.Name)
		}
	}
	return nil
}

func excluded(a, b string) error { return Usagef("--%s and --%s exclude each other", a, b) }

// CheckVerb returns a usage error if an option was given that is not for the verb.
func CheckVerb(opts []Option, verb string, args *Args) error {
	for i := range opts {
		if o := &opts[i]; o.Verbs != nil && args.Has(o.Long) && !slices.Contains(o.Verbs, verb) {
			return Usagef("option '--%s' is not for %s", o.Long, verb)
		}
	}
	return nil
}
