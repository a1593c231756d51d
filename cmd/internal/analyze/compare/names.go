package compare

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// label is that by which commands and spans are matched.
type label struct {
	kind   analysis.Kind
	forked bool
	name   string // of the program or the span
	exact  string // the masked text: equal texts match
	data   string // of the first interval with it: data of proc.exec, data of a span
}

// names numbers the labels of a run. Several texts may have one label.
type names struct {
	pids   map[int32]bool
	list   []label
	raw    map[string]int32 // by the text as recorded
	masked map[string]int32
	texts  map[string]int // labels of one program, or of one name of spans
	size   int
	key    []byte
}

const (
	// maxSpanTexts bounds the labels of one name of spans, maxStepTexts those of steps, and
	// maxCommandTexts those of one program. All others have the name as their label.
	maxSpanTexts    = 1 << 8
	maxStepTexts    = 1 << 12
	maxCommandTexts = 1 << 14
	// maxTexts bounds all labels, and maxTextSize their size.
	maxTexts    = 1 << 16
	maxTextSize = 32 << 20
)

// stepName is the name of the spans of ptrace-event --steps.
const stepName = "step"

func newNames(pids map[int32]bool) *names {
	return &names{pids: pids, raw: map[string]int32{}, masked: map[string]int32{}, texts: map[string]int{}}
}

// of returns the label of an interval.
func (t *names) of(n *analysis.Node) int32 {
	b := append(t.key[:0], kindByte(n.Kind, n.Forked))
	b = append(append(append(b, n.Name...), 0), n.Data()...)
	t.key = b
	if id, ok := t.raw[string(b)]; ok {
		return id
	}
	l := label{kind: n.Kind, forked: n.Forked, name: mask(n.Name, t.pids), data: string(n.Data())}
	if len(t.list) >= maxTexts || t.size >= maxTextSize {
		l.name, l.data = "", ""
	} else if t.texts[string(b[:1])+l.name] >= limit(&l) {
		l.data = ""
	}
	l.exact = string(b[:1]) + l.name + "\x00" + maskData(&l, t.pids)
	id, ok := t.masked[l.exact]
	if !ok {
		id = int32(len(t.list))
		t.list = append(t.list, l)
		t.masked[l.exact] = id
		t.texts[string(b[:1])+l.name]++
		t.size += len(l.exact) + len(l.data)
	}
	if t.size < maxTextSize {
		t.raw[string(b)] = id
		t.size += len(b)
	}
	return id
}

func kindByte(kind analysis.Kind, forked bool) byte {
	if forked {
		return byte(kind) | 0x80
	}
	return byte(kind)
}

// limit returns how many labels of one name there may be.
func limit(l *label) int {
	switch {
	case l.kind == analysis.Process:
		return maxCommandTexts
	case l.name == stepName:
		return maxStepTexts
	}
	return maxSpanTexts
}

// maskData masks arguments or the data of a span. A program is the same in any directory.
func maskData(l *label, pids map[int32]bool) string {
	if l.kind != analysis.Process || l.data == "" {
		return mask(withoutLine(l.name, l.data), pids)
	}
	d, err := posixtrace.DecodeExec([]byte(l.data))
	if err != nil || len(d.Argv) == 0 {
		return ""
	}
	return mask(strings.Join(d.Argv[1:], "\x00"), pids)
}

// withoutLine returns the data of a step, "FILE:LINE COMMAND", without the line, which changes with
// each edit of the script.
func withoutLine(name, data string) string {
	if name != stepName {
		return data
	}
	for i := 0; i < len(data); i++ {
		if data[i] != ':' {
			continue
		}
		n := i + 1
		for n < len(data) && isDigit(data[n]) {
			n++
		}
		if n > i+1 && n < len(data) && data[n] == ' ' {
			return data[:i] + data[n:]
		}
	}
	return data
}
