// Command channel waits for a value that is never sent, while another goroutine reads standard input.
package main

import "os"

//go:noinline
func waitsForever(c chan int) { <-c }

//go:noinline
func reads() { os.Stdin.Read(make([]byte, 1)) }

func main() {
	go reads()
	waitsForever(make(chan int))
}
