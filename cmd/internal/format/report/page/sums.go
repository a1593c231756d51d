package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-PQOYU7P5XRE1P9M7576empokXY9haybLJxFuxVrIkog='",
	"hash-js":  "'sha256-PA1h1k+rY8BcUzJPyo9wf3odyBpH165Gb+r1B/446Ps='",
}
