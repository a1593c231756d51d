// Package recipe names the spans that ptrace-run --make records, one for each line of a recipe of
// make. make.begin has "TARGET: LINE" as its data, make.end the status. Package tracer writes them
// and package analysis reads them.
package recipe

// Name is the name of the spans.
const Name = "make"

// keys is the upper half of their keys, which makes them unlike those of other spans. A span inside
// may belong to another process than the one around it, so its key must be unique in the log.
const keys = 0x6d616b65

// Key returns the key of the nth span.
func Key(n uint32) uint64 { return keys<<32 | uint64(n) }

// IsKey reports whether a key is one of Key.
func IsKey(key uint64) bool { return key>>32 == keys }
