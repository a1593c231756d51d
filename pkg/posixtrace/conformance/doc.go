// Package conformance holds the tests that compare package posixtrace with the standard,
// requirement by requirement. They use the package from outside, as any program does.
package conformance
