package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const requestSize = 64

// serve answers requests on a port of the loopback device until its standard input ends. It prints the
// address. Every hundredth answer opens a file.
func serve([]string) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			b := make([]byte, requestSize)
			for n := 0; ; n++ {
				if _, err := io.ReadFull(c, b); err != nil {
					c.Close()
					return
				}
				if n%100 == 0 {
					if f, err := os.Open(os.DevNull); err == nil {
						f.Close()
					}
				}
				c.Write(b)
			}
		}()
	}
}

// ask sends requests to a server over four connections, each after the answer to the last one,
// and prints how many were answered in a second.
func ask(args []string) error {
	if len(args) != 2 {
		return errors.New("wrong number of arguments")
	}
	d, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var answered atomic.Int64
	start := time.Now()
	for range 4 {
		c, err := net.Dial("tcp4", args[0])
		if err != nil {
			return err
		}
		defer c.Close()
		wg.Go(func() {
			b := make([]byte, requestSize)
			for time.Since(start) < d {
				if _, err := c.Write(b); err != nil {
					return
				}
				if _, err := io.ReadFull(c, b); err != nil {
					return
				}
				answered.Add(1)
			}
		})
	}
	wg.Wait()
	_, err = fmt.Println(float64(answered.Load()) / time.Since(start).Seconds())
	return err
}
