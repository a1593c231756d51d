package owner

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// Hooks for the tests of package posixtrace. No production code calls them.

// Writer returns the writer of the log, nil before Begin.
func (o *Log) Writer() *tracelog.Writer { return o.log }

// FinishOrphan is finishOrphan.
func FinishOrphan(c *conn.Conn, lock func() (func(), error)) error { return finishOrphan(c, lock) }
