//go:build !linux

package filter

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// secrets returns the patterns of a stream. There are no streams here.
func secrets(*posixtrace.Stream) *redact.Set { return nil }
