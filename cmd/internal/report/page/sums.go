package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-AA3oBbOQ7jdYqaGHeD+EuEKwyb2MccVLT5s7dsFVLbE='",
	"hash-js":  "'sha256-0ASN1Dk/7MFoDpikEJdKshw65Ww4ZPFLQxCcF4GlKyA='",
}
