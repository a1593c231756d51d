package view

import (
	"strconv"
	"strings"
)

// scale writes the times above a timeline of some columns.
func (s *show) scale(columns int) string {
	const apart = 10 // columns between two times, at least
	step := stepOf(float64(s.length()) * apart / float64(columns))
	line := ""
	for i := int64(0); ; i++ {
		at := float64(i) * step
		col := int(at * float64(columns) / float64(s.length()))
		if i > 0 && (col >= columns || i > int64(columns)) {
			break
		}
		text := "|" + s.moment(int64(at), int64(step))
		if n := len([]rune(line)); n > 0 && n >= col || col+len([]rune(text)) > columns {
			continue
		}
		line = fill(line, col) + text
	}
	return line
}

// stepOf returns a round number of nanoseconds that is not below another number.
func stepOf(least float64) float64 {
	for unit := 1.0; unit <= 1e10; unit *= 10 {
		for _, n := range []float64{1, 2, 5} {
			if step := n * unit; step >= least && step < 50e9 {
				return step
			}
		}
	}
	const minute, hour, day = 60e9, 3600e9, 86400e9
	for _, step := range []float64{minute, 2 * minute, 5 * minute, 10 * minute, 20 * minute, 30 * minute, hour, 2 * hour, 6 * hour, 12 * hour} {
		if step >= least {
			return step
		}
	}
	step := day
	for step < least {
		step *= 2
	}
	return step
}

// moment formats a time on the scale, a multiple of a step.
func (s *show) moment(ns, step int64) string {
	const minute, hour = 60e9, 3600e9
	if step >= minute || ns >= minute && step%1e9 == 0 {
		text := ""
		if ns >= hour {
			text = strconv.FormatInt(ns/hour, 10) + "h"
		}
		if m := ns / minute % 60; m > 0 || text == "" {
			text += strconv.FormatInt(m, 10) + "m"
		}
		if sec := ns / 1e9 % 60; sec > 0 {
			text += strconv.FormatInt(sec, 10) + "s"
		}
		return text
	}
	unit, name := 1e9, "s"
	switch {
	case step < 1e3:
		unit, name = 1, "ns"
	case step < 1e6:
		unit, name = 1e3, "µs"
	case step < 1e9 && s.length() < 1e9:
		unit, name = 1e6, "ms"
	}
	if ns == 0 {
		return "0"
	}
	text := strconv.FormatFloat(float64(ns)/unit, 'f', 3, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".") + name
	if s.ASCII {
		return ascii(text)
	}
	return text
}
