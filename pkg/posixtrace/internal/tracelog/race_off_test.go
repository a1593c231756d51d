//go:build !race

package tracelog

// raceEnabled makes tests that try every byte take larger steps.
const raceEnabled = false
