// Package traced tests C programs as traced processes. The controller and the analyzer are in Go.
package traced

import (
	"testing"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

func TestMain(m *testing.M) { ctest.Main(m) }
