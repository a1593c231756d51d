package posixtrace

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/internal/hostile"
)

// Data of system events comes from a log or from shared memory. Decoding stays within the data,
// and its result encodes and decodes to the same.
func FuzzSystemData(f *testing.F) {
	for _, s := range hostile.Texts() {
		f.Add([]byte(s))
		f.Add((&ExecData{Path: s, Argv: []string{s, "", s}}).Append(nil))
		f.Add((&ExecData{Path: s, Argv: []string{s}, Dir: s, Stdin: "<" + s, Stdout: ">" + s, Stderr: ">&1", Environment: []string{s, "", "A=" + s}, Unset: []string{s}, Incomplete: len(s)%2 == 0}).Append(nil))
		f.Add((&SyscallData{Result: -1, Errno: len(s), Returned: true, Args: []SyscallArg{{Value: []byte(s), String: true}, {Value: []byte(s), Cut: true}, {}}}).Append(nil))
		f.Add((&SyscallData{Result: 3, Returned: true, Opened: []byte(s), Args: []SyscallArg{{Value: []byte(s)}}}).Append(nil))
		f.Add((&OutputData{Line: []byte(s), Continues: true}).Append(nil))
	}
	frames := []SyscallFrame{{Address: 0x7f0000001234}, {Address: 0x401000, Guessed: true}, {Address: 1<<62 - 1, Interrupted: true}, {}}
	f.Add((&SyscallData{Returned: true, Stack: frames, StackCut: true, Args: []SyscallArg{{Value: []byte("1")}}}).Append(nil))
	f.Add((&ExitData{Status: -1, Signal: 9, CoreDumped: true, MaxRSS: 1 << 62}).Append(nil))
	f.Add((&ExitData{RunDelay: -1, Processors: 2}).Append(nil))
	f.Add((&ExitData{Processors: 1 << 40, Others: 3, Idle: -1, Pressure: 5}).Append(nil))
	f.Add((&ForkData{Child: -1, Kind: 9}).Append(nil))
	f.Add((&SignalData{Signal: 64, Code: -6, Sender: 1 << 30, UID: -1}).Append(nil))
	f.Add((&MapData{Start: 1 << 63, End: 1, Offset: 4096, Path: "/a", BuildID: []byte{1, 2}, Removed: true, First: true, Parent: -1}).Append(nil))
	f.Add((&ContextData{TraceID: [16]byte{1}, SpanID: [8]byte{2}, Parent: [8]byte{3}, Flags: 1, State: "a=b"}).Append(nil))
	f.Add((&HangData{Program: "a", Args: []string{"a", ""}, Call: "read(0)", Since: -1, For: "x", Stack: []string{"f"}, Note: "n", State: 'S', Kind: 9}).Append(nil))
	f.Add((&ResSampleData{Number: 1, Full: true, Group: true, RSS: 1 << 40, Changes: []ResProcess{{PID: 1, Program: "a", RSS: 4096}, {PID: 1 << 30, CPU: -resUnit}}, Ended: []int{7, 9}}).Append(nil))
	f.Add((&ResSampleData{Number: -1, Part: -1, Continues: true, Interval: -1}).Append(bytes.Repeat([]byte{1}, 3)))
	f.Add((&FileData{Kind: FileRename, Mode: FileRead | FileCreate, Device: 1, Inode: 2, Bytes: -1, Path: "/a", Canonical: "/b", To: "/c"}).Append(nil))
	f.Add((&FileData{Kind: FileMissing, Err: 2, Count: 1 << 62, UID: -1, GID: -1, Path: "\xff\n"}).Append(nil))
	f.Add(bytes.Repeat([]byte{0xff}, 8+8*64))
	f.Fuzz(func(t *testing.T, data []byte) {
		again := func(what string, v, w any, err error) {
			t.Helper()
			if err != nil || !reflect.DeepEqual(v, w) {
				t.Fatalf("%s: %+v comes back as %+v, %v", what, v, w, err)
			}
		}
		DecodeInt(data)
		if s, err := DecodeSet(data); err == nil && len(data) > 0 && s.Has(0) {
			t.Fatal("0 is no event type")
		}
		DecodeFilter(data)
		if d, err := DecodeExec(data); err == nil {
			n := len(d.Path) + len(d.Dir) + len(d.Stdin) + len(d.Stdout) + len(d.Stderr)
			for _, a := range slices.Concat(d.Argv, d.Environment, d.Unset) {
				n += 1 + len(a)
			}
			if n > len(data) {
				t.Fatalf("%d bytes of %d", n, len(data))
			}
			e, err := DecodeExec(d.Append(nil))
			again("exec", d, e, err)
		}
		if d, err := DecodeExit(data); err == nil {
			if min(d.Status, d.Signal) < 0 || min(d.User, d.System) < 0 || min(d.MaxRSS, d.MinorFault, d.MajorFault, d.BlocksIn, d.BlocksOut, d.Voluntary, d.Involunt) < 0 ||
				min(d.RunDelay, d.Others, d.Idle, d.Pressure) < 0 || d.Processors < 0 {
				t.Fatalf("less than nothing: %+v", d)
			}
			e, err := DecodeExit(d.Append(nil))
			again("exit", d, e, err)
		}
		if d, err := DecodeFork(data); err == nil {
			e, err := DecodeFork(d.Append(nil))
			again("fork", d, e, err)
			_ = d.Kind.String()
		}
		if d, err := DecodeSignal(data); err == nil {
			e, err := DecodeSignal(d.Append(nil))
			again("signal", d, e, err)
		}
		if d, err := DecodeSyscall(data); err == nil {
			n := 0
			for _, a := range d.Args {
				n += 2 + len(a.Value)
			}
			if d.Duration < 0 || n+len(d.Stack) > len(data) {
				t.Fatalf("%d bytes and %d frames of %d bytes, duration %d", n, len(d.Stack), len(data), d.Duration)
			}
			e, err := DecodeSyscall(d.Append(nil))
			again("syscall", d, e, err)
			other := SyscallData{Errno: 1, Restarted: 512, Opened: []byte("x"), Args: make([]SyscallArg, 3), Stack: make([]SyscallFrame, 3), StackCut: true}
			if err := other.Decode(data); err != nil || !bytes.Equal(other.Append(nil), d.Append(nil)) {
				t.Fatalf("decoded over another call: %+v, %v, want %+v", other, err, d)
			}
		}
		if d, err := DecodeMap(data); err == nil {
			if len(d.BuildID) > maxBuildID || len(d.Path)+len(d.BuildID) > len(data) {
				t.Fatalf("%d and %d bytes of %d", len(d.BuildID), len(d.Path), len(data))
			}
			e, err := DecodeMap(d.Append(nil))
			again("map", d, e, err)
		}
		if d, err := DecodeContext(data); err == nil {
			e, err := DecodeContext(d.Append(nil))
			again("context", d, e, err)
		}
		if d, err := DecodeHang(data); err == nil {
			n := len(d.Program) + len(d.Call) + len(d.Wait) + len(d.For) + len(d.Note)
			for _, s := range append(d.Args, d.Stack...) {
				n += len(s)
			}
			if n > len(data) || d.Since < -1 {
				t.Fatalf("%d bytes of %d, since %d", n, len(data), d.Since)
			}
			e, err := DecodeHang(d.Append(nil))
			again("hang", d, e, err)
			_, _ = d.Cause.String(), d.Kind.String()
		}
		if d, err := DecodeResSample(data); err == nil {
			if len(d.Changes)+len(d.Ended) > len(data) || d.Interval < 0 || d.RSS < 0 || d.CPU < 0 {
				t.Fatalf("%d bytes: %+v", len(data), d)
			}
			e, err := DecodeResSample(d.Append(nil))
			again("sample", d, e, err)
			var r ResProcesses
			r.Add(&d)
			r.Add(&e)
			r.Encode(nil, &e, e.Changes, 1)
		}
		if d, err := DecodeFile(data); err == nil {
			if len(d.Path)+len(d.To)+len(d.Canonical) > len(data) || d.Bytes < -1 || d.Count < 0 {
				t.Fatalf("%d bytes: %+v", len(data), d)
			}
			e, err := DecodeFile(d.Append(nil))
			again("file", d, e, err)
			_, _ = d.Kind.String(), d.Mode.Words()
			if b := ReplaceFilePaths(data, func(s string) string { return s }); len(data) > 0 && &b[0] != &data[0] {
				t.Fatal("no path has changed, and the data is new")
			}
		}
		if d, err := DecodeOutput(data); err == nil {
			e, err := DecodeOutput(d.Append(nil))
			again("output", d, e, err)
		}
	})
}
