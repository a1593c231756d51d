package sys

import "golang.org/x/sys/unix"

// retryInt calls f until no signal interrupts it.
func retryInt(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// retry calls f until no signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
