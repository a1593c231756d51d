package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-PQOYU7P5XRE1P9M7576empokXY9haybLJxFuxVrIkog='",
	"hash-js":  "'sha256-UYW456bwozxJOF2pnunEC5O3MaB10e7gYF8gw2+x1PY='",
}
