package report

import (
	"encoding/json"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
)

// A process that forks and executes nothing has the name of its parent. A script that works in subshells is
// many of them: the line of output before each tells them apart.

const (
	// longFork is the part of the run from which on a fork gets the line: a 20th.
	longFork = 20
	// maxPhases bounds how many do, widestPhase the line.
	maxPhases   = 100
	widestPhase = 40
)

// phases finds lines of output by time.
type phases struct {
	lines *lines
	texts map[int][]string // of the blocks that were decoded
	named int
}

// label returns the label of a span with the line before it, if it is a long fork.
func (p *phases) label(x *span, label string, length int64) string {
	if x.flags&forked == 0 || p.named >= maxPhases || x.length() < length/longFork || x.count > 1 {
		return label
	}
	p.named++
	if line := p.before(x.start, x.source); line != "" {
		label += ` after "` + summary.Cut(line, widestPhase) + `"`
	}
	return label
}

// before returns the last line until a time that is not empty, "" if there is none.
func (p *phases) before(at int64, source int32) string {
	blocks := p.lines.blocks()
	for i := len(blocks) - 1; i >= 0; i-- {
		b := &blocks[i]
		for j := len(b.lines) - 1; j >= 0; j-- {
			if x := &b.lines[j]; x.at > at || x.source != source {
				continue
			}
			if text := strings.TrimSpace(summary.Unstyled([]byte(p.text(i, b, j)))); text != "" {
				return text
			}
		}
	}
	return ""
}

// text returns a line of a block.
func (p *phases) text(i int, b *lineBlock, j int) string {
	list, ok := p.texts[i]
	if !ok {
		all := ""
		if json.Unmarshal([]byte(`"`+string(b.text)+`"`), &all) == nil {
			list = strings.Split(all, "\n")
		}
		p.texts[i] = list
	}
	if j >= len(list) {
		return ""
	}
	return list[j]
}
