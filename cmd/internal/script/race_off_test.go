//go:build !race

package script_test

// raceEnabled reports whether the commands run with the race detector, which takes a
// multiple of their memory and time.
const raceEnabled = false
