// Empty is the least that a Go program costs, for scripts/bench.
package main

func main() {}
