package viewers

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/trace"
	"strings"
	"sync/atomic"
)

// site serves the pages of both viewers and the file.
type site struct {
	url     string
	server  *http.Server
	tool    *exec.Cmd
	dir     string
	current atomic.Pointer[string]
}

var listening = regexp.MustCompile(`http://[0-9.:]+`)

func serve(speedscope string) (_ *site, err error) {
	s := &site{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "viewers-"); err != nil {
		return nil, err
	}
	origin, err := s.startTool()
	if err != nil {
		return nil, fmt.Errorf("go tool trace: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + l.Addr().String()
	mux := http.NewServeMux()
	file := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // the next file has the same address
		http.ServeFile(w, r, *s.current.Load())
	}
	mux.HandleFunc("/jsontrace", file)
	mux.HandleFunc("/file.json", file)
	mux.Handle("/speedscope/", http.StripPrefix("/speedscope/", http.FileServer(http.Dir(speedscope))))
	mux.Handle("/", httputil.NewSingleHostReverseProxy(origin))
	s.server = &http.Server{Handler: mux}
	go s.server.Serve(l)
	return s, nil
}

// startTool starts "go tool trace" on an arbitrary trace.
func (s *site) startTool() (*url.URL, error) {
	name := filepath.Join(s.dir, "trace")
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := trace.Start(f); err != nil {
		return nil, err
	}
	trace.Stop()
	if err := f.Close(); err != nil {
		return nil, err
	}
	tool, err := exec.Command("go", "tool", "-n", "trace").Output() // without go, which would be another process to end
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(strings.TrimSpace(string(tool)), "-http=127.0.0.1:0", name)
	cmd.Env = append(os.Environ(), "BROWSER=true") // instead of a window
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.tool = cmd
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if u := listening.FindString(lines.Text()); u != "" {
			go func() {
				for lines.Scan() {
				}
			}()
			return url.Parse(u)
		}
	}
	return nil, errors.New("it has ended")
}

func (s *site) file(name string) { s.current.Store(&name) }

func (s *site) close() {
	if s.server != nil {
		s.server.Close()
	}
	if s.tool != nil {
		s.tool.Process.Kill()
		s.tool.Wait()
	}
	os.RemoveAll(s.dir)
}
