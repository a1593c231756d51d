package posixtrace

import (
	"os"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool/early"
)

// The tests and their helpers are not connected before main, except one helper.
var _ = func() bool {
	early.Refused = os.Getenv(tracetest.HelperVar) != earlyHelper
	return early.Refused
}()

func init() {
	tracetest.Helpers["target"] = tracetest.Target(OpenEventID, Event)
	tracetest.Helpers["event"] = tracetest.Pass(OpenEventID, Event)
}

func TestMain(m *testing.M) { ctest.Main(m) }
