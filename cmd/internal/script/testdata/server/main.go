// Server answers requests of HTTP, or with an address sends them one after the other for a time and prints how
// many were answered and how many failed.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

func main() {
	if len(os.Args) > 2 {
		ask(os.Args[1], os.Args[2])
		return
	}
	var answered atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	http.HandleFunc("/count", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, answered.Load()) })
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, answered.Add(1))
	})
	panic(http.Serve(l, nil))
}

func ask(address, duration string) {
	d, err := time.ParseDuration(duration)
	if err != nil {
		panic(err)
	}
	answered, failed := 0, 0
	for end := time.Now().Add(d); time.Now().Before(end); {
		r, err := http.Get("http://" + address)
		if err != nil {
			failed++
			continue
		}
		_, err = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			failed++
			continue
		}
		answered++
	}
	fmt.Println(answered, failed)
}
