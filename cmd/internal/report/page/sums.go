package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-wAvFDgrX+Tn+kJMwxlztoJjxHwkaT0hPM8oWBzzeWXg='",
	"hash-js":  "'sha256-icmMW+KwfI1SG7ZXsBbra7dhDj9022psMbso5QxPlBI='",
}
