// The names of error numbers and signals. tables.go has the tables.

package catalog

import "strconv"

// ErrnoName returns the name of an error number, "" if it has none.
func ErrnoName(n int) string {
	if n > 0 && n < len(errors) {
		return errors[n].name
	}
	return ""
}

// ErrnoText returns what an error number means, in the words of strerror(3) but without a capital.
func ErrnoText(n int) string {
	if n > 0 && n < len(errors) && errors[n].text != "" {
		return errors[n].text
	}
	return "errno " + strconv.Itoa(n)
}

// SignalName returns the name of a signal, "" if it has none.
func SignalName(n int) string {
	if n > 0 && n < len(signals) {
		return signals[n]
	}
	return ""
}

// The signals that have codes of their own, the si_code of siginfo_t.
const (
	SIGILL  = 4
	SIGTRAP = 5
	SIGBUS  = 7
	SIGFPE  = 8
	SIGSEGV = 11
	SIGCHLD = 17
	SIGSYS  = 31
)
