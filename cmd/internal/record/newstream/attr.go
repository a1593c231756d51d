// Package newstream has what ptrace-run and ptrace-create share: options, attributes, filter
// and name of a new stream.
package newstream

import (
	"math"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// LogOptions are the options for the log of a new stream.
var LogOptions = []cli.Option{
	{Short: 'o', Long: "log", Arg: "LOG", Help: "record to LOG, replacing an existing regular file"},
	{Long: "no-clobber", Help: "keep an existing file; sync the log at each flush"},
	{Long: "sync", Help: "write the log to its device with each flush", Needs: needsLog("sync"), SameRow: true},
}

// SizeOptions are the options for the sizes and full policies of a new stream and its log.
var SizeOptions = []cli.Option{
	{Long: "stream-size", Arg: "SIZE", Help: "size of the stream in memory (1M)"},
	{Long: "max-data-size", Arg: "SIZE", Help: "keep at most this much data of an event (4K)"},
	{Long: "stream-full-policy", Arg: "POLICY", Choices: []string{"loop", "until-full", "flush"}, Help: "loop (default), until-full, flush (default with -o)"},
	{Long: "log-size", Arg: "SIZE", Help: "size of the log, for loop and until-full", Needs: needsLog("log-size")},
	{Long: "log-full-policy", Arg: "HOW", Choices: []string{"append", "until-full", "loop"}, Help: "append, until-full, loop (append)", Needs: needsLog("log-full-policy")},
}

func needsLog(option string) cli.Need {
	return cli.Need{AnyOf: []string{"log"}, Text: "--" + option + " needs a log"}
}

// Attributes returns the attributes that the options ask for. logged says whether the
// stream has a log.
func Attributes(args *cli.Args, logged bool) (a posixtrace.Attr, err error) {
	if name, ok := args.Lookup("name"); ok {
		if err := streams.CheckName(name); err != nil {
			return a, err
		}
		a.Name = name
	}
	if args.Value("inherit") != "no" {
		a.Inheritance = posixtrace.InheritChildren
	}
	if a.StreamSize, err = args.Size("stream-size", 0); err != nil {
		return a, err
	}
	if a.LogSize, err = args.Size("log-size", 0); err != nil {
		return a, err
	}
	size := int64(4 << 10)
	if slices.Contains(strings.Split(args.Value("events"), ","), "files") {
		size = filesDataSize
	}
	data, err := args.Size("max-data-size", size)
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
	DefaultSize(args, &a, 1<<20)
	return a, nil
}

// filesDataSize has room for the three longest paths of a file.
const filesDataSize = 16 << 10

// DefaultSize sets the size of a stream for which no option asks for one: size, or that of a smaller log. A log
// has at least the size of its stream, and must not get larger than an option says.
func DefaultSize(args *cli.Args, a *posixtrace.Attr, size int64) {
	if args.Has("stream-size") {
		return
	}
	a.StreamSize, a.LeastStreamSize = size, leastStreamSize
	if args.Has("log-size") && a.LogFullPolicy != posixtrace.PolicyAppend {
		a.StreamSize = min(size, max(a.LogSize, 1))
	}
}

var fullPolicies = map[string]posixtrace.FullPolicy{
	"loop":       posixtrace.PolicyLoop,
	"until-full": posixtrace.PolicyUntilFull,
	"flush":      posixtrace.PolicyFlush,
	"append":     posixtrace.PolicyAppend,
}

// Filter returns the filter changes that --exclude asks for.
func Filter(args *cli.Args) (ops []posixtrace.FilterOp, err error) {
	for _, v := range args.All("exclude") {
		set, err := selection.ParseEvents(v)
		if err != nil {
			return nil, err
		}
		ops = append(ops, set.Op(posixtrace.FilterAdd))
	}
	return ops, nil
}
