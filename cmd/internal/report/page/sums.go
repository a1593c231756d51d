package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-PD3qrID6v7CUG/iwBj4LMyVnnpqrtDClVqr96cbHHL0='",
	"hash-js":  "'sha256-3mhCTousyK0r4AXyiGhq1RNwJ1I/fgqeX3q0+GeOAkE='",
}
