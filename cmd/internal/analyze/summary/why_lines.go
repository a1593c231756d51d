package summary

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// placed is a line with its key.
type placed struct {
	key whyKey
	*whyLine
}

// appendText appends the answer as lines of text. If there is no room for all, those that say least are left
// out, and the last line counts them.
func (a *answer) appendText(b []byte) []byte {
	var all []placed
	for key := range whyKeys {
		for i := range a.lines[key] {
			all = append(all, placed{key, &a.lines[key][i]})
		}
	}
	left := a.leave(all)
	for _, p := range all {
		if slices.Contains(left, p) {
			continue
		}
		b = append(append(b, a.fitted(p)...), '\n')
	}
	if len(left) > 0 {
		var names []string
		for _, p := range left {
			if name := whyNames[p.key]; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		text := "left out: " + cli.Plural(uint64(len(left)), "line", "lines") + " of " + strings.Join(names, ", ") + " (--why=" + strconv.Itoa(len(all)) + ")"
		b = append(append(b, text...), '\n')
	}
	return b
}

// fitted returns the text of a line, which fits the terminal. Of what failed, the name is cut rather than how it
// ended. A command that is cut cannot be run.
func (a *answer) fitted(p placed) string {
	prefix, l := whyNames[p.key]+": ", p.line
	if a.Width > 0 && p.key == keyFailed && l.subject != "" {
		if room := a.Width - output.Width(prefix+l.before+l.after); room >= leastWidth {
			l.subject = cut(l.subject, room)
		}
	}
	text := prefix + strings.TrimPrefix(l.text(), "    ")
	if a.Width > 0 && p.key != keyMore {
		text = fit(text, max(a.Width, leastWidth))
	}
	return text
}

// leastWidth is the width that lines have on a narrower terminal, so that their keys can be read.
const leastWidth = 20

// leave returns the lines to leave out.
func (a *answer) leave(all []placed) []placed {
	if len(all) <= a.Lines {
		return nil
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(x, y placed) int { return cmp.Compare(x.rank, y.rank) })
	left := ranked[max(a.Lines-1, 0):]
	slices.SortStableFunc(left, func(x, y placed) int { return cmp.Compare(x.key, y.key) })
	return left
}

// raw returns a line as JSON has it.
func (l *line) raw() string {
	text := l.before + l.subject + l.after
	for _, w := range l.words {
		text += w.text
	}
	return text
}

// appendJSON appends the answer as one object. why.schema.json describes it. A key of which the log says
// nothing is an empty list.
func (a *answer) appendJSON(b []byte) []byte {
	start := len(b)
	for key := range whyKeys {
		name, list := whyNames[key], []string{}
		for i := range a.lines[key] {
			if l := &a.lines[key][i]; !l.empty {
				list = append(list, l.raw())
			}
		}
		switch key {
		case keySlow:
			b = appendObjects(b, name, a.parts, part.fields)
		case keyMore:
			b = appendObjects(b, name, a.steps, step.fields)
		default:
			b = output.AppendMember(b, name, list)
		}
	}
	state, status, signal, limit, wall := "unknown", 0, 0, int64(0), int64(0)
	if r := a.mostTelling(); r != nil {
		state = stateNames[r.State]
		status, signal, wall = r.Status, r.Signal, r.Wall
		if r.Timeout != nil {
			limit = r.Timeout.Limit
		}
	}
	b = output.AppendMember(b, "state", state)
	b = output.AppendMember(b, "status", status)
	b = output.AppendMember(b, "signal", signal)
	b = output.AppendMember(b, "timeout_ns", limit)
	b = output.AppendMember(b, "wall_ns", wall)
	b = output.AppendMember(b, "maxrss", a.most)
	b = output.AppendMember(b, "events", a.Events)
	b = output.AppendMember(b, "lost_events", a.show.lost)
	b[start] = '{' // the comma of the first member
	return append(b, '}', '\n')
}

// appendObjects appends a member that is a list of objects.
func appendObjects[T any](b []byte, name string, list []T, fields func(T) output.Fields) []byte {
	b = output.AppendMember(b, name, []string{})
	b = b[:len(b)-1] // the bracket that ends the list
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = fields(x).AppendJSON(b)
		b = b[:len(b)-1] // the newline
	}
	return append(b, ']')
}

func (p part) fields() output.Fields {
	return output.Fields{{Key: "what", Value: p.label}, {Key: "self_ns", Value: p.self}, {Key: "share", Value: p.share}}
}

func (s step) fields() output.Fields {
	return output.Fields{{Key: "command", Value: s.command}, {Key: "about", Value: s.about}}
}

// mostTelling returns the first run that failed, otherwise the first one, nil if there is none.
func (a *answer) mostTelling() *analysis.Run {
	runs := a.Runs()
	if i := slices.IndexFunc(runs, (*analysis.Run).Failed); i >= 0 {
		return runs[i]
	}
	if len(runs) > 0 {
		return runs[0]
	}
	return nil
}
