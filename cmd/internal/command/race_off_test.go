//go:build !race

package command

// raceEnabled tells whether the commands run with the race detector, which takes a
// multiple of their memory and time.
const raceEnabled = false
