package cli

import (
	"encoding/binary"
	"os"
	"strings"
	"time"
)

// unknownZone is $TZ if it names no time zone. Local times are in UTC then.
var unknownZone string

// setZone has times shown in the zone that $TZ describes. Package time knows those that are files. The
// others are in the form of POSIX: EST5EDT,M3.2.0,M11.1.0.
func setZone() {
	tz := strings.TrimPrefix(os.Getenv("TZ"), ":")
	if tz == "" || tz == "UTC" || setNamedZone(tz) {
		return
	}
	if zone := posixZone(tz); zone != nil {
		time.Local = zone
	} else {
		unknownZone = tz
	}
}

// posixZone returns the time zone of a value of TZ in the form of POSIX, nil if it is malformed. See
// XBD 8.3, Other Environment Variables.
//
// Package time reads this form at the end of a file of tzfile(5), where it says what follows the last
// transition. So posixZone makes a file without transitions.
func posixZone(tz string) *time.Location {
	if name, _, _ := strings.Cut(tz, ","); strings.ContainsAny(name, "/\n") {
		return nil // a path
	}
	const malformed = "?" // the name of the one zone in the file, which nothing but a malformed end leads to
	header := func(version byte) []byte {
		b := append([]byte("TZif"), version)
		b = append(b, make([]byte, 15)...)
		counts := []uint32{0, 0, 0, 0, 1, uint32(len(malformed) + 1)} // one zone, and its name
		for _, n := range counts {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		b = append(b, 0, 0, 0, 0, 0, 0) // offset, no daylight saving time, index of the name
		return append(append(b, malformed...), 0)
	}
	file := append(header('2'), header('2')...) // the second one may have times of 64 bits
	zone, err := time.LoadLocationFromTZData("Local", append(append(append(file, '\n'), tz...), '\n'))
	if err != nil {
		return nil
	}
	if name, _ := time.Unix(0, 0).In(zone).Zone(); name == malformed {
		return nil
	}
	return zone
}

// UseZone reports, once, that local times are in UTC because $TZ names no time zone. What reads or shows a
// local time calls it.
func (e *Env) UseZone() {
	if unknownZone != "" {
		e.Note("TZ=" + unknownZone + ": unknown time zone; local times are in UTC")
		unknownZone = ""
	}
}
