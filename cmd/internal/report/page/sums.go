package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-3bhKwsjJjfFofvGvQWT5msJHS5BvxHlzJKNbFEKRC6c='",
	"hash-js":  "'sha256-A3HjAZfKEscjXSldKam7AKI1JNY3T4/WE+cU/nObJQ0='",
}
