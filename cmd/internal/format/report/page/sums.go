package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-PQOYU7P5XRE1P9M7576empokXY9haybLJxFuxVrIkog='",
	"hash-js":  "'sha256-ZwGhR4s1MSxR87mDqkN2x1EtLAUK5DXALrojep8FcbU='",
}
