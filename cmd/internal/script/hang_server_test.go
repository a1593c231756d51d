package script_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// Reports of a server under load fail no request. With POSIXTRACE_FULL there are a thousand, if the machine makes
// them in five minutes, and they cost less than one in a hundred of its requests.
func TestHangServer(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "server")
	if out, err := exec.Command("go", "build", "-o", bin, "testdata/server/main.go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.Command(bin)
	stdout, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address = strings.TrimSpace(address)
	pid := strconv.Itoa(server.Process.Pid)
	all, reports := 0, 0
	// round returns the requests that were answered in a time, while reports are made or not.
	round := func(d time.Duration, looks bool) int {
		client := exec.Command(bin, address, d.String())
		var out strings.Builder
		client.Stdout = &out
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- client.Wait() }()
		for looks {
			select {
			case err := <-done:
				done <- err
				looks = false
				continue
			default:
			}
			if out, err := exec.Command("ptrace-ctl", "hang", "-p", pid).CombinedOutput(); err != nil || !strings.Contains(string(out), "server (pid "+pid+")") {
				t.Fatalf("%v\n%s", err, out)
			}
			reports++
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		answered, failed := 0, 0
		if _, err := fmt.Sscan(out.String(), &answered, &failed); err != nil || failed > 0 || answered == 0 {
			t.Fatalf("%v: %q", err, out.String())
		}
		all += answered
		return answered
	}
	d := time.Duration(tracetest.Scale(200, 6000, 6000)) * time.Millisecond
	round(d/4, false) // its connections exist, its caches are warm
	without, with, least := 0, 0, 1.0
	for end := time.Now().Add(5 * time.Minute); ; {
		a, b := round(d, false), round(d, true)
		b += round(d, true)
		a += round(d, false)
		without, with, least = without+a, with+b, min(least, 1-float64(b)/float64(a))
		if !tracetest.Full() || reports >= 1000 || time.Now().After(end) {
			break
		}
	}
	t.Logf("%d requests without reports, and %d with %d reports in as long", without, with, reports)
	if tracetest.Full() && least > 0.01 { // other programs take from both, and not always as much
		t.Errorf("the server lost %.1f %% of its requests at least", 100*least)
	}
	r, err := http.Get("http://" + address + "/count")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); err != nil || string(b) != strconv.Itoa(all) {
		t.Errorf("the server has answered %s requests, and its clients know of %d: %v", b, all, err)
	}
}
