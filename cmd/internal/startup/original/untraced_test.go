package original_test

import (
	"testing"

	_ "github.com/posixtrace/posixtrace/cmd/internal/startup/original"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool/early"
)

func TestImportRefuses(t *testing.T) {
	if !early.Refused {
		t.Error("a program that imports the package connects to its stream")
	}
}
