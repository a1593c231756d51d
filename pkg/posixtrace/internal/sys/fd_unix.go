//go:build unix && !linux

package sys

// oPath is no flag here.
const oPath = 0
