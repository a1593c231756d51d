package page

// sums are the hashes of the style and the scripts. "go generate" writes them.
var sums = map[string]string{
	"hash-css": "'sha256-FwZsilBfJtIJhM48sWZkpkkRnhl/Dz+IpnTrw69c5ds='",
	"hash-js":  "'sha256-VwtoEPDtxFC8d/6wttvHubMMCZsupkMRxOhbvTG8EiA='",
}
