package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-wAvFDgrX+Tn+kJMwxlztoJjxHwkaT0hPM8oWBzzeWXg='",
	"hash-js":  "'sha256-Rf0PxnGblVCGhxztV2cX5m8Z8EvU2QtqDdXfUoFhxNI='",
}
