package posixtrace

import (
	"encoding/binary"
	"math"
	"time"
)

// TimeoutData is the data of EventProcTimeout: the time limit of a command has passed. The event precedes
// the signal that ends the command for it. Extension.
type TimeoutData struct {
	Limit  time.Duration
	Signal int // the signal that follows
}

const timeoutDataSize = 8 + 4

// Append appends the encoded form.
func (d *TimeoutData) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(d.Limit))
	return binary.LittleEndian.AppendUint32(b, uint32(d.Signal))
}

// DecodeTimeout decodes the data of EventProcTimeout. Errors: EINVAL malformed data.
func DecodeTimeout(data []byte) (d TimeoutData, err error) {
	if len(data) < timeoutDataSize {
		return d, einval("DecodeTimeout", "proc.timeout data of %d bytes", len(data))
	}
	d.Limit = time.Duration(min(binary.LittleEndian.Uint64(data), math.MaxInt64))
	d.Signal = int(int32(binary.LittleEndian.Uint32(data[8:])))
	return d, nil
}
