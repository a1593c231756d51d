// Package creation is what ptrace-run and ptrace-create share: the attributes, the
// filter and the name of a new stream.
package creation

import (
	"math"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/eventset"
	"github.com/posixtrace/posixtrace/cmd/internal/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

var ErrSyncLog = cli.Usagef("--sync needs a log")

// Attributes returns the attributes of a new stream that the options ask for. logged
// tells whether it has a log.
func Attributes(args *cli.Args, logged bool) (a posixtrace.Attr, err error) {
	for _, option := range []string{"log-size", "log-full-policy"} {
		if args.Has(option) && !logged {
			return a, cli.Usagef("--%s needs a log", option)
		}
	}
	if name, ok := args.Lookup("name"); ok {
		if err := streams.CheckName(name); err != nil {
			return a, err
		}
		a.Name = name
	}
	if args.Value("inherit") != "no" {
		a.Inheritance = posixtrace.InheritChildren
	}
	if a.StreamSize, err = args.Size("stream-size", 1<<20); err != nil {
		return a, err
	}
	if !args.Has("stream-size") {
		a.LeastStreamSize = leastStreamSize
	}
	if a.LogSize, err = args.Size("log-size", 0); err != nil {
		return a, err
	}
	data, err := args.Size("max-data-size", 4<<10)
	if err != nil {
		return a, err
	}
	if data > math.MaxInt32 {
		return a, cli.BadValue("max-data-size", args.Value("max-data-size"), cli.ErrTooLarge)
	}
	a.MaxDataSize = new(int(data))
	a.StreamFullPolicy = fullPolicies[args.Value("stream-full-policy")]
	if a.StreamFullPolicy == posixtrace.PolicyFlush && !logged {
		return a, cli.Usagef("--stream-full-policy=flush needs a log")
	}
	a.LogFullPolicy = posixtrace.PolicyAppend
	if v, ok := args.Lookup("log-full-policy"); ok {
		a.LogFullPolicy = fullPolicies[v]
	}
	return a, nil
}

var fullPolicies = map[string]posixtrace.FullPolicy{
	"loop":       posixtrace.PolicyLoop,
	"until-full": posixtrace.PolicyUntilFull,
	"flush":      posixtrace.PolicyFlush,
	"append":     posixtrace.PolicyAppend,
}

// Filter returns the steps of the filter that --exclude asks for.
func Filter(args *cli.Args) (ops []posixtrace.FilterOp, err error) {
	for _, v := range args.All("exclude") {
		set, err := eventset.Parse(v)
		if err != nil {
			return nil, err
		}
		ops = append(ops, set.Op(posixtrace.FilterAdd))
	}
	return ops, nil
}
