//go:build !linux

package cli

func prepareFiles() error { return nil }
