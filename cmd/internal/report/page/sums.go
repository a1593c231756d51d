package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-IuOL4gAXkOkTvqNA75cw6G1d3dwhfLpjsoMwNhY9Ly4='",
	"hash-js":  "'sha256-YKQA67Yx3LfMypz3X6py7/BnwxxQ8lqMPQBq4JqZH6E='",
}
