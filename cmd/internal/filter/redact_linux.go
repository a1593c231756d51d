package filter

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// secrets returns the patterns of a stream, nil for none.
func secrets(s *posixtrace.Stream) *redact.Set {
	info, err := s.Info()
	if err != nil {
		return redact.Everything()
	}
	shared := redact.Of(info.Path)
	if shared == nil {
		return nil
	}
	defer shared.Close()
	return shared.Set
}
