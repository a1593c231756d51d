package conformance

import (
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func init() {
	tracetest.Helpers["target"] = tracetest.Target(posixtrace.OpenEventID, posixtrace.Event)
	tracetest.Helpers["event"] = tracetest.Pass(posixtrace.OpenEventID, posixtrace.Event)
}

func TestMain(m *testing.M) { tracetest.Main(m) }
