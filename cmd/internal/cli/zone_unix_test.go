//go:build unix

package cli

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// zones are values of TZ in the form of POSIX.
var zones = []string{
	"JST-9", "UTC0", "<+03>-3", "<-1030>+10:30", "AAA-12:34:56", "XYZ24", "XYZ-24:59:59",
	"EST+5EDT,M3.2.0,M11.1.0", "CET-1CEST,M3.5.0,M10.5.0/3", "EET-2EEST,M3.5.5/24,M10.5.5/1",
	"IST-1GMT0,M10.5.0,M3.5.0/1",                                                                          // winter time is the one that is switched on
	"AEST-10AEDT,M10.1.0,M4.1.0/3", "NZST-12NZDT,M9.5.0,M4.1.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", // southern
	"AAA3BBB,J60,J305/24", "AAA3BBB,59,304/0:30:15",
	"<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "IST-2IDT,M3.4.4/26,M10.5.0", "<-1030>10:30<-1000>10,M5.1.4/167,M9.1.1/-167",
}

// newYearZones change their clocks at the turn of the year. Package time shows their times right, but
// reads some of the hours before and after that as an hour earlier or later.
var newYearZones = []string{"XXX-14YYY,J1/0,J200", "AAA-2BBB,M12.5.0,M1.1.0"}

// Times in each zone are those of date(1): through a leap year by half an hour, at the second before,
// and at the turns of years. A time that was shown is read as the same, unless the clock shows it twice.
func TestPosixZone(t *testing.T) {
	tracetest.NeedProgram(t, "date")
	var at []int64
	var input strings.Builder
	add := func(from, to time.Time) {
		for s := from.Unix(); s < to.Unix(); s += 1800 {
			at = append(at, s-1, s)
			fmt.Fprintf(&input, "@%d\n@%d\n", s-1, s)
		}
	}
	day := func(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }
	add(day(2024, 1, 1), day(2025, 1, 1))
	for y := 1971; y < 2040; y += 4 {
		add(day(y-1, 12, 30), day(y, 1, 3))
	}
	for _, tz := range slices.Concat(zones, newYearZones) {
		zone := posixZone(tz)
		if zone == nil {
			t.Errorf("posixZone(%q) = nil", tz)
			continue
		}
		date := exec.Command("date", "-f", "-", "+%Y-%m-%dT%H:%M:%S %Z %::z")
		date.Env = []string{"TZ=" + tz, "LC_ALL=C"}
		date.Stdin = strings.NewReader(input.String())
		out, err := date.Output()
		tracetest.OK(t, "date", err)
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if len(lines) != len(at) {
			t.Fatalf("date shows %d times of %d", len(lines), len(at))
		}
		wrong := 0
		for i, s := range at {
			tm := time.Unix(s, 0).In(zone)
			got := tm.Format("2006-01-02T15:04:05 MST -07:00:00")
			if got != lines[i] {
				if wrong++; wrong < 4 {
					t.Errorf("%s, %d is %s, want %s", tz, s, got, lines[i])
				}
			}
			if slices.Contains(newYearZones, tz) {
				continue
			}
			back, err := time.ParseInLocation("2006-01-02T15:04:05", tm.Format("2006-01-02T15:04:05"), zone)
			if err != nil || back.Format("15:04:05") != tm.Format("15:04:05") || back.Sub(tm).Abs() > 3*time.Hour {
				t.Fatalf("%s, %s is read as %s, %v", tz, tm, back, err)
			}
		}
	}
}

// What is malformed is no time zone.
func TestPosixZoneMalformed(t *testing.T) {
	for _, tz := range []string{
		"", "x", "JST", "A5", "5", "-9", "JST-", "JST-9:", "<+03-3", "<+03>", "EST5EDT,", "EST5EDT,M3.2.0", "EST5EDT,M13.1.0,M1.1.0",
		"EST5EDT,M3.6.0,M11.1.0", "EST5EDT,J0,J1", "EST5EDT,M3.2.0,M11.1.0,", "EST5EDT,M3.2.0,M11.1.0 ", "America/New_York", "Etc/GMT-14",
		"../etc/passwd", "JST-9\nUTC0", "JST-9x",
	} {
		if zone := posixZone(tz); zone != nil {
			t.Errorf("posixZone(%q): %s, want nil", tz, time.Unix(0, 0).In(zone))
		}
	}
}
