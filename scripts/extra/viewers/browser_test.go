package viewers

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// browser is a headless browser controlled through a pipe: messages are JSON, each
// terminated by a NUL.
type browser struct {
	cmd  *exec.Cmd
	dir  string
	to   *os.File
	mu   sync.Mutex
	id   int
	wait map[int]chan message
	tabs map[string]*tab
	gone chan struct{}
}

type message struct {
	ID        int                       `json:"id,omitempty"`
	Method    string                    `json:"method,omitempty"`
	Params    json.RawMessage           `json:"params,omitempty"`
	SessionID string                    `json:"sessionId,omitempty"`
	Result    json.RawMessage           `json:"result,omitempty"`
	Error     *struct{ Message string } `json:"error,omitempty"`
}

func startBrowser(file string) (*browser, error) {
	dir, err := os.MkdirTemp("", "viewers-")
	if err != nil {
		return nil, err
	}
	b := &browser{dir: dir, wait: map[int]chan message{}, tabs: map[string]*tab{}, gone: make(chan struct{})}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, their2, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b.to = ours
	args := []string{"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + dir, "--no-first-run", "--disable-gpu",
		"--disable-dev-shm-usage", "--window-size=1600,1000", "--disable-background-networking"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium's sandbox refuses root; the pages are ours
	}
	b.cmd = exec.Command(file, append(args, "about:blank")...)
	b.cmd.ExtraFiles = []*os.File{theirs, their2} // 3 and 4
	err = b.cmd.Start()
	theirs.Close()
	their2.Close()
	if err != nil {
		return nil, err
	}
	go b.read(from)
	return b, nil
}

func (b *browser) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	b.call(ctx, "", "Browser.close", nil)
	b.to.Close()
	select {
	case <-b.gone:
	case <-ctx.Done():
		b.cmd.Process.Kill()
	}
	b.cmd.Wait()
	os.RemoveAll(b.dir)
}

// read distributes the messages of the browser.
func (b *browser) read(from io.ReadCloser) {
	defer close(b.gone)
	defer from.Close()
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.wait[m.ID]; m.ID != 0 && c != nil {
			delete(b.wait, m.ID)
			c <- m
		} else if t := b.tabs[m.SessionID]; t != nil {
			t.event(&m)
		}
		b.mu.Unlock()
	}
}

func (b *browser) call(ctx context.Context, session, method string, params any) (json.RawMessage, error) {
	p, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if params == nil {
		p = nil
	}
	c := make(chan message, 1)
	b.mu.Lock()
	b.id++
	id := b.id
	b.wait[id] = c
	text, err := json.Marshal(message{ID: id, Method: method, Params: p, SessionID: session})
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case m := <-c:
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		return m.Result, nil
	case <-b.gone:
		return nil, errors.New("the browser has ended")
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// tab is one page, with its errors.
type tab struct {
	b          *browser
	ctx        context.Context
	target     string
	session    string
	complaints []string
}

func (b *browser) open(ctx context.Context) (*tab, error) {
	t := &tab{b: b, ctx: ctx}
	var r struct{ TargetID, SessionID string }
	res, err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(res, &r); err != nil {
		return nil, err
	}
	t.target = r.TargetID
	res, err = b.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": t.target, "flatten": true})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(res, &r); err != nil {
		return nil, err
	}
	t.session = r.SessionID
	b.mu.Lock()
	b.tabs[t.session] = t
	b.mu.Unlock()
	for _, m := range []string{"Page.enable", "Runtime.enable"} {
		if _, err := t.call(m, nil); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tab) close() {
	t.b.call(t.ctx, "", "Target.closeTarget", map[string]any{"targetId": t.target})
	t.b.mu.Lock()
	delete(t.b.tabs, t.session)
	t.b.mu.Unlock()
}

func (t *tab) call(method string, params any) (json.RawMessage, error) {
	return t.b.call(t.ctx, t.session, method, params)
}

// event keeps warnings, errors, exceptions and alerts. The browser is locked.
func (t *tab) event(m *message) {
	var p struct {
		Type, Message string
		Args          []struct {
			Value       any
			Description string
		}
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	switch m.Method {
	case "Runtime.consoleAPICalled":
		if p.Type != "warning" && p.Type != "error" && p.Type != "assert" {
			return
		}
		var words []string
		for _, a := range p.Args {
			if a.Value != nil {
				words = append(words, fmt.Sprint(a.Value))
			} else {
				words = append(words, a.Description)
			}
		}
		t.complaints = append(t.complaints, p.Type+": "+strings.Join(words, " "))
	case "Runtime.exceptionThrown":
		t.complaints = append(t.complaints, p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
	case "Page.javascriptDialogOpening":
		t.complaints = append(t.complaints, "dialog: "+p.Message)
		go t.call("Page.handleJavaScriptDialog", map[string]any{"accept": true})
	}
}

func (t *tab) navigate(url string) error {
	_, err := t.call("Page.navigate", map[string]any{"url": url})
	return err
}

// poll evaluates an expression until it is a non-empty string.
func (t *tab) poll(expression string) (string, error) {
	for {
		res, err := t.call("Runtime.evaluate", map[string]any{"expression": expression})
		if err != nil {
			return "", err
		}
		var r struct {
			Result           struct{ Value any }
			ExceptionDetails *struct{ Exception struct{ Description string } }
		}
		if err := json.Unmarshal(res, &r); err != nil {
			return "", err
		}
		if r.ExceptionDetails != nil {
			return "", errors.New(r.ExceptionDetails.Exception.Description)
		}
		if s, _ := r.Result.Value.(string); s != "" {
			return s, nil
		}
		select {
		case <-t.ctx.Done():
			return "", errors.New("nothing is shown")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// picture writes a screenshot of the tab after it has been drawn.
func (t *tab) picture(file string) error {
	drawn := map[string]any{"awaitPromise": true,
		"expression": "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 500))))"}
	if _, err := t.call("Runtime.evaluate", drawn); err != nil {
		return err
	}
	res, err := t.call("Page.captureScreenshot", map[string]any{"format": "png"})
	if err != nil {
		return err
	}
	var r struct{ Data string }
	if err := json.Unmarshal(res, &r); err != nil {
		return err
	}
	png, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o666)
}
