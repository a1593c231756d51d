package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

// sink takes what an exporter of OTLP/HTTP sends to /v1/logs, as JSON, until it is ended. It answers
// when a request is in the file.
func sink(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	var mu sync.Mutex
	http.HandleFunc("POST /v1/logs", func(w http.ResponseWriter, r *http.Request) {
		var in io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			in = z
		}
		body, err := io.ReadAll(io.LimitReader(in, 64<<20))
		if err != nil {
			return // half a request: its sender was killed
		}
		mu.Lock()
		defer mu.Unlock()
		if _, err := f.Write(append(body, '\n')); err != nil {
			http.Error(w, err.Error(), http.StatusInsufficientStorage)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{}")
	})
	return http.Serve(l, nil)
}
