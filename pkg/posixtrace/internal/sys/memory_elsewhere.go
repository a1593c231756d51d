//go:build !linux

package sys

import (
	"math/rand/v2"
	"os"
	"time"
)

// Map fails.
func Map(*os.File, int, bool) ([]byte, error) { return nil, errElsewhere }

// MapAnon fails.
func MapAnon(int) ([]byte, error) { return nil, errElsewhere }

// Unmap fails for any mapping.
func Unmap(mem []byte) error {
	if mem == nil {
		return nil
	}
	return errElsewhere
}

// Allocate fails.
func Allocate(*os.File, int64) error { return errElsewhere }

// Punch fails.
func Punch(*os.File, int64, int64) error { return errElsewhere }

// Random64 returns a random number.
func Random64() uint64 { return rand.Uint64() }

// Area is the part of an address space that has an address.
type Area struct {
	Start, End uint64
	Offset     uint64
	Name       string
	BuildID    []byte
}

// AreaAt fails.
func AreaAt(*os.File, uint64) (Area, error) { return Area{}, errElsewhere }

// Alarm wakes a goroutine after a while. It is never made here.
type Alarm struct{}

// NewAlarm fails.
func NewAlarm() (*Alarm, error) { return nil, errElsewhere }

// Wait waits for d.
func (*Alarm) Wait(d time.Duration) bool {
	time.Sleep(d)
	return true
}

// Ring does nothing.
func (*Alarm) Ring() {}

// Close does nothing.
func (*Alarm) Close() error { return nil }
