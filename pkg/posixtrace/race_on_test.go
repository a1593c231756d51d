//go:build race

package posixtrace

const raceEnabled = true
