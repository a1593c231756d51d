package posixslog_test

import (
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixslog"
)

// Lines are printed as before, and recorded beside trace points.
func Example() {
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	logger := slog.New(posixslog.New(text, nil))
	query := posixtrace.MustEventID("example.query") // usually a package variable

	s, err := posixtrace.Create(0, nil) // or ptrace-run, or ptrace-create
	if err != nil {
		log.Fatal(err)
	}
	defer s.Shutdown()
	s.Start()

	logger.Info("listening", "port", 8080)
	posixtrace.Event(query, []byte("select 1"))
	logger.WithGroup("request").Warn("slow", "path", "/a")

	for ev, err := range s.All() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.ID.User() {
			fmt.Printf("%s %s\n", ev.Name, ev.Data)
		}
	}
	// Output:
	// level=INFO msg=listening port=8080
	// level=WARN msg=slow request.path=/a
	// log.info {"level":"INFO","msg":"listening","port":8080}
	// example.query select 1
	// log.warn {"level":"WARN","msg":"slow","request":{"path":"/a"}}
}
