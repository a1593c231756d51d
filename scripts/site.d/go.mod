// scripts/site builds the documentation with this program. It is a module of its own, so that the
// commands do not depend on a markdown library.
module github.com/posixtrace/posixtrace/scripts/site.d

go 1.26.0

require (
	github.com/yuin/goldmark v1.7.13
	golang.org/x/net v0.62.0
)
