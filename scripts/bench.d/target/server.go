package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const requestSize = 64

// serve answers requests on a socket, each connection by a thread, until its standard input ends.
// It prints a line when it listens. Every hundredth answer opens a file.
func serve(args []string) error {
	if len(args) != 1 {
		return errors.New("wrong number of arguments")
	}
	l, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(l, &unix.SockaddrUnix{Name: args[0]}); err != nil {
		return err
	}
	if err := unix.Listen(l, 16); err != nil {
		return err
	}
	fmt.Println("ready")
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Remove(args[0])
		os.Exit(0)
	}()
	for {
		c, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		go func() {
			defer unix.Close(c)
			b := make([]byte, requestSize)
			for n := 0; exchange(unix.Read, c, b); n++ {
				if n%100 == 0 {
					if f, err := os.Open(os.DevNull); err == nil {
						f.Close()
					}
				}
				if !exchange(unix.Write, c, b) {
					return
				}
			}
		}()
	}
}

// exchange reads or writes a request as a whole. It returns false at the end of the connection.
func exchange(how func(int, []byte) (int, error), fd int, b []byte) bool {
	for {
		n, err := how(fd, b)
		if err != unix.EINTR {
			return n == len(b) && err == nil
		}
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
		c, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(c, &unix.SockaddrUnix{Name: args[0]}); err != nil {
			return err
		}
		defer unix.Close(c)
		wg.Go(func() {
			b := make([]byte, requestSize)
			for time.Since(start) < d && exchange(unix.Write, c, b) && exchange(unix.Read, c, b) {
				answered.Add(1)
			}
		})
	}
	wg.Wait()
	_, err = fmt.Println(float64(answered.Load()) / time.Since(start).Seconds())
	return err
}
