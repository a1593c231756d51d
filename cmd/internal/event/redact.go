package event

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/record/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/record/destination"
)

// secrets are the sets of the streams that take the events. What one of them has to replace is replaced
// in all.
type secrets []*redact.Shared

// redactFor makes a target replace what its streams must not have.
func redactFor(t *destination.Target) (list secrets) {
	for _, path := range t.Streams() {
		if s := redact.Of(path); s != nil {
			list = append(list, s)
		}
	}
	if list != nil {
		t.Rewrite = list.text
	}
	return list
}

func (list secrets) text(b []byte, cut bool) []byte {
	for _, s := range list {
		b = s.Text(b, cut)
	}
	return b
}

func (list secrets) string(text string) string {
	for _, s := range list {
		text = s.String(text)
	}
	return text
}

// lines returns the function that replaces in the lines of one input.
func (list secrets) lines() func(line []byte, f capture.Flags) []byte {
	if list == nil {
		return func(line []byte, _ capture.Flags) []byte { return line }
	}
	var inputs []*redact.Line
	for _, s := range list {
		inputs = append(inputs, s.NewLine())
	}
	return func(line []byte, f capture.Flags) []byte {
		more := redact.Ends
		switch {
		case f&capture.Continues != 0:
			more = redact.Continues
		case f&capture.Return != 0:
			more = redact.Returns
		}
		for i, l := range inputs {
			var n int
			line, n = l.Next(line, more)
			list[i].Add(n)
		}
		return line
	}
}

func (list secrets) close() {
	for _, s := range list {
		s.Close()
	}
}
