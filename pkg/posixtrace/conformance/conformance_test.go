package conformance

import (
	"errors"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The conformance tests: one subtest for each numbered requirement, in the file of its
// section, named
//
//	ID/function/ERRNO
//
// as in CRE-06/posix_trace_create/ESRCH; the last two only where the requirement
// is about them. libposixtrace/conformance/requirements.txt lists the ids.

type requirement struct {
	name string
	test func(t *testing.T)
}

var requirements []requirement

// conform registers the test of a requirement.
func conform(name string, test func(t *testing.T)) struct{} {
	requirements = append(requirements, requirement{name, test})
	return struct{}{}
}

func TestConformance(t *testing.T) {
	for _, r := range requirements {
		t.Run(r.name, r.test)
	}
}

// wantErrno fails the test unless err is an *Error with that error number.
func wantErrno(t *testing.T, err error, want syscall.Errno) {
	t.Helper()
	var e *posixtrace.Error
	if !errors.As(err, &e) || e.Err != want {
		t.Errorf("error is %v, want %v", err, want)
	}
}
