package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-0kvbmluoVz7U9C+Gq2Sn3WrG+hMVowtFvU7/ZCBUhx4='",
	"hash-js":  "'sha256-N3OeoNW1JQlxSYVPnGLWeXfbfTbwjMHOhgnkJkZBvpM='",
}
