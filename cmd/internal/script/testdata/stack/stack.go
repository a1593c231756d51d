// Writes, from many places, a line with the addresses to which the functions around it return.
package main

import (
	"runtime"
	"strconv"
	"syscall"
)

//go:noinline
func report(n int) int {
	var pcs [400]uintptr
	var line []byte
	for _, pc := range pcs[:runtime.Callers(1, pcs[:])] {
		line = append(strconv.AppendUint(append(line, "0x"...), uint64(pc), 16), ' ')
	}
	line[len(line)-1] = '\n'
	m, _ := syscall.Write(1, line)
	return n + m
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		return report(n) + 1
	}
	return deep(n-1) + 1
}

type shape interface{ area(n int) int }

type square struct{ side [40]int }

//go:noinline
func (s square) area(n int) int { return deep(n) + s.side[n] }

func main() {
	sum := deep(5)
	done := make(chan int)
	for n := range 3 {
		go func() { done <- deep(n) }()
		sum += <-done
	}
	var s shape = square{}
	sum += s.area(4)
	func() {
		defer func() {
			recover()
			sum += deep(3)
		}()
		panic("x")
	}()
	sum += deep(100) + deep(300)
	if sum == 1<<40 {
		panic(sum)
	}
}
