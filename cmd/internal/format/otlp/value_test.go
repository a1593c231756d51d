package otlp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Numbers, times and ids are those of packages strconv and hex, also at the edges and out of order.
func TestNumbers(t *testing.T) {
	var c clock
	for i := range 200_000 {
		n := rand.Uint64() >> rand.UintN(64)
		if i < 65 {
			n = 1<<i - 1
		}
		if got, want := string(escape.AppendHex([]byte("x"), n)), "x"+strconv.FormatUint(n, 16); got != want {
			t.Fatalf("%d in hexadecimal: %s, want %s", n, got, want)
		}
		var raw [8]byte
		binary.BigEndian.PutUint64(raw[:], n)
		if got, want := string(appendID(nil, n)), hex.EncodeToString(raw[:]); got != want {
			t.Fatalf("%d as an id: %s, want %s", n, got, want)
		}
		for _, ns := range []int64{int64(n), -int64(n), math.MaxInt64 - int64(n>>1), c.from, c.from - 1, c.from + second - 1, c.from + second, math.MinInt64} {
			if got, want := string(c.appendTime([]byte("x"), ns)), "x"+strconv.FormatInt(max(ns, 0), 10); got != want {
				t.Fatalf("time %d: %s, want %s", ns, got, want)
			}
		}
	}
}

// The members of proc.exec are those that DecodeExec decodes, whatever the data.
func TestExecMembers(t *testing.T) {
	parts := []string{"\x00", "a", "/bin/sh", "plain text of some length", "\"", "\n", "é", "\xff", "\u202e", "\x00\x00"}
	for range 100_000 {
		data := make([]byte, 4)
		for range rand.IntN(8) {
			data = append(data, parts[rand.IntN(len(parts))]...)
		}
		binary.LittleEndian.PutUint32(data, uint32(rand.IntN(len(data)+4)))
		d, err := posixtrace.DecodeExec(data)
		if err != nil {
			continue
		}
		want := appendStringAttribute(nil, attr+"process.executable.path"+isString, d.Path)
		want = appendStrings(want, attr+"process.command_args"+isArray, d.Argv)
		program, _, ok := sysevent.Exec(data)
		if got := appendExec(nil, program); !ok || !bytes.Equal(got, want) {
			t.Fatalf("%q: %s, want %s", data, got, want)
		}
	}
}

// discard takes batches.
type discard struct{ bytes int }

func (d *discard) Traces(body []byte, _ int) error  { d.bytes += len(body); return nil }
func (d *discard) Logs(body []byte, _ int) error    { d.bytes += len(body); return nil }
func (d *discard) Metrics(body []byte, _ int) error { d.bytes += len(body); return nil }

func BenchmarkAdd(b *testing.B) {
	call := posixtrace.SyscallData{Result: 3, Duration: 18334, Returned: true, Args: []posixtrace.SyscallArg{
		{Value: []byte("AT_FDCWD")}, {Value: []byte("/usr/lib/x86_64-linux-gnu/libc.so.6"), String: true}, {Value: []byte("O_RDONLY|O_CLOEXEC")},
	}}
	exec := posixtrace.ExecData{Path: "/usr/bin/gcc", Argv: []string{"gcc", "-quiet", "-imultiarch", "x86_64-linux-gnu", "file.c", "-O2", "-o", "/tmp/ccAbCdEf.s"}}
	const openat = posixtrace.EventUnnamed + 1
	for _, kind := range []struct {
		name  string
		calls int
	}{{"processes", 0}, {"calls", 100}} {
		b.Run(kind.name, func(b *testing.B) {
			l := New(&discard{}, &Resource{Identity: kind.name}, func(id posixtrace.EventID) string {
				if id == openat {
					return "syscall.openat"
				}
				return "proc." + fmt.Sprint(id)
			})
			recs := []posixtrace.Record{
				{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventProcFork, PID: 1, TID: 1}, Data: (&posixtrace.ForkData{Child: 2}).Append(nil)},
				{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventProcExec, PID: 2, TID: 2}, Data: exec.Append(nil)},
			}
			for range kind.calls {
				recs = append(recs, posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: openat, PID: 2, TID: 2, Address: 0x7f667ffbc38d}, Data: call.Append(nil)})
			}
			recs = append(recs, posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventProcExit, PID: 2, TID: 2}, Data: (&posixtrace.ExitData{MaxRSS: 1 << 25}).Append(nil)})
			at := int64(1e18)
			b.ReportAllocs()
			for b.Loop() {
				for i := range recs {
					at += 1000
					recs[i].UnixNano = at
				}
				if err := l.Add(recs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N*len(recs)), "ns/event")
		})
	}
}
