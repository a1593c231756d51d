package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-3RW1tcYIaIurMCaufgP/2ZlCy4pqUjTf35/YFR9iRoc='",
	"hash-js":  "'sha256-Dkb0upv+/8FwsHoKL6SCCOON5ACauaGYjYintmC8cvA='",
}
