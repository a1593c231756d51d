package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-IuOL4gAXkOkTvqNA75cw6G1d3dwhfLpjsoMwNhY9Ly4='",
	"hash-js":  "'sha256-8Zp0uObe/EbIo6L39yBWN3ABh3gsbx0p4uJEpdNk5ys='",
}
