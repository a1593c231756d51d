package sys

// Wrap returns the error of fmt.Errorf(text+": %w", err). The compiler computes a package variable
// of it; with fmt.Errorf each program would do so when it starts.
func Wrap(text string, err error) error { return &wrapped{text, err} }

type wrapped struct {
	text string
	err  error
}

func (e *wrapped) Error() string { return e.text + ": " + e.err.Error() }
func (e *wrapped) Unwrap() error { return e.err }
