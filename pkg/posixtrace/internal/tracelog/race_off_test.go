//go:build !race

package tracelog

// raceEnabled lets tests that try every byte take larger steps.
const raceEnabled = false
