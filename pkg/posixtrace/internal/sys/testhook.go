package sys

import "time"

// WallClock reads CLOCK_REALTIME. Tests of TimedNext replace it by a clock that they step.
var WallClock = time.Now
