package posixtrace

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// The garbage collector may free a Stream, and unmap its memory, as soon as no instruction
// needs the pointer any more, which can be before the end of its last call. So every method
// that uses mapped memory keeps its receiver alive until it is done.
func TestMethodsKeepReceiversAlive(t *testing.T) {
	handles := map[string]bool{"Stream": true, "Recorder": true, "Process": true, "Reader": true, "Attachment": true, "Table": true}
	mapped := map[string]bool{"c": true, "mem": true, "w": true, "a": true, "streams": true, "ctl": true,
		"Conn": true, "Mem": true, "Writer": true, "Streams": true}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, inner := range []string{"conn", "owner", "tracee"} {
		more, err := filepath.Glob(filepath.Join("internal", inner, "*.go"))
		if err != nil || len(more) == 0 {
			t.Fatalf("internal/%s: %d files: %v", inner, len(more), err)
		}
		files = append(files, more...)
	}
	looked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil || len(m.Recv.List[0].Names) == 0 {
				continue
			}
			star, ok := m.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			typ := star.X.(*ast.Ident).Name
			if !handles[typ] {
				continue
			}
			recv := m.Recv.List[0].Names[0].Name
			touches, keeps := false, false
			ast.Inspect(m.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == recv && mapped[n.Sel.Name] {
						touches = true
					}
				case *ast.CallExpr:
					if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "KeepAlive" && len(n.Args) == 1 {
						if x, ok := n.Args[0].(*ast.Ident); ok && x.Name == recv {
							keeps = true
						}
					}
				}
				return true
			})
			looked++
			if touches && !keeps {
				t.Errorf("%s: (*%s).%s does not keep its receiver alive", set.Position(m.Pos()), typ, m.Name.Name)
			}
		}
	}
	if looked < 60 {
		t.Errorf("only %d methods were checked", looked)
	}
}

func init() {
	// collected: for args[0] milliseconds, makes calls that are the last use of their receivers
	// while the collector runs all the time.
	tracetest.Helpers["collected"] = func(args []string) {
		check := func(err error) {
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		ms, _ := strconv.Atoi(args[0])
		end := time.Now().Add(time.Duration(ms) * time.Millisecond)
		s, err := Create(0, &Attr{StreamFullPolicy: PolicyUntilFull})
		check(err)
		defer s.Shutdown()
		check(s.Start())
		id, err := OpenEventID("collected")
		check(err)
		path := s.c.Path
		go func() {
			for {
				runtime.GC()
			}
		}()
		attached := func() *Stream {
			a, err := Attach(path)
			check(err)
			return a
		}
		recorder := func() *Recorder {
			r, err := attached().Recorder()
			if err != nil {
				return &Recorder{s: s} // earlier ones are not collected yet
			}
			return r
		}
		process := func() *Process {
			p, err := OpenProcess(os.Getpid())
			check(err)
			return p
		}
		ev := EventInfo{ID: EventOutputStdout}
		for range 100 {
			Event(id, make([]byte, 4000))
		}
		for st, err := s.PeekStatus(); st.StreamFullStatus != StatusFull; st, err = s.PeekStatus() {
			check(err)
			Event(id, make([]byte, 4000))
		}
		// Such a call waits for the flush of a full stream, and then uses it again.
		wait := func() bool {
			time.Sleep(50 * time.Millisecond)
			return true
		}
		for range 2 {
			r := recorder()
			r.a.Writer.OnFull = wait
			go r.Record(ev, nil)
			p := process()
			p.streams[0].Writer.OnFull = wait
			go p.Event(id, nil)
			time.Sleep(100 * time.Millisecond)
		}
		calls := []func(){
			func() { recorder().Record(ev, nil) },
			func() { recorder().Wants(ev.ID) },
			func() { recorder().Now() },
			func() { process().Event(id, nil) },
			func() { attached().Filter() },
			func() { attached().Attr() },
			func() { attached().Info() },
			func() { attached().PeekStatus() },
			func() { attached().TryNext(nil) },
			func() { attached().NextEventType() },
			func() {
				if r, err := attached().Reader(); err == nil {
					r.Status()
				}
			},
			func() {
				if r, err := attached().Reader(); err == nil {
					r.Next()
				}
			},
			func() {
				if r, err := attached().Reader(); err == nil {
					r.EventName(EventStart)
				}
			},
		}
		for n := 0; time.Now().Before(end); n++ {
			calls[n%len(calls)]()
		}
	}
}

// TestLastCallsDuringCollection runs such calls while the collector runs all the time.
func TestLastCallsDuringCollection(t *testing.T) {
	cmd := exec.Command(os.Args[0], strconv.Itoa(tracetest.Scale(500, 10000, 100000)))
	cmd.Env = append(os.Environ(), tracetest.HelperVar+"=collected", tracetest.Quick)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%.4000s", err, out)
	}
	if _, err := List(); err != nil { // of a child that has crashed
		t.Error(err)
	}
}
