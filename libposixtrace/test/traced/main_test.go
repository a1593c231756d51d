// Package traced tests C programs as traced processes. The controller and the analyzer are in Go.
package traced

import (
	"os"
	"testing"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// oweVariable makes the test binary oweAndWait with the stream it names.
const oweVariable = "POSIXTRACE_TEST_OWE"

func TestMain(m *testing.M) {
	if path := os.Getenv(oweVariable); path != "" {
		oweAndWait(path)
	}
	ctest.Main(m)
}
