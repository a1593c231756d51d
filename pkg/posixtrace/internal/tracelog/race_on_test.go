//go:build race

package tracelog

const raceEnabled = true
