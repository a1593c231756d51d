package posixtrace

import (
	"errors"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// A tracer opens system types of its own by name and gets the same ids each time; patterns of
// the filter apply to them, and predefined names have their predefined numbers.
func TestOpenSystemEventIDs(t *testing.T) {
	s, err := Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.FilterOps([]FilterOp{{How: FilterAdd, Patterns: []string{"syscall.r*"}}}); err != nil {
		t.Fatal(err)
	}
	ids, err := s.OpenSystemEventIDs("syscall.open", "syscall.read", "proc.exec", "syscall.open")
	if err != nil {
		t.Fatal(err)
	}
	if !ids[0].System() || !ids[1].System() || ids[0] == ids[1] || ids[3] != ids[0] || ids[2] != EventProcExec {
		t.Errorf("ids are %v", ids)
	}
	again, err := s.OpenSystemEventIDs("syscall.read")
	if err != nil || again[0] != ids[1] {
		t.Errorf("again: %v, %v; before it was %v", again, err, ids[1])
	}
	if name, err := s.EventName(ids[0]); err != nil || name != "syscall.open" {
		t.Errorf("the name of %v is %q, %v", ids[0], name, err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	r, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Wants(ids[0]) || r.Wants(ids[1]) || r.Wants(0) {
		t.Errorf("wants %v %v %v, want true false false", r.Wants(ids[0]), r.Wants(ids[1]), r.Wants(0))
	}
	if _, err := s.OpenSystemEventIDs(strings.Repeat("x", EventNameMax+1)); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("a name that is too long: %v", err)
	}
}

// Data that a tracer records decodes to the original, and truncated data is an error.
func TestDecodeTracerData(t *testing.T) {
	d := SyscallData{Result: -1, Errno: 2, Duration: 5, Returned: true,
		Args: []SyscallArg{{Value: []byte("AT_FDCWD")}, {Value: []byte("a\x00b"), String: true, Cut: true}}}
	b := d.Append(nil)
	got, err := DecodeSyscall(b)
	if err != nil || got.Result != -1 || got.Errno != 2 || got.Duration != 5 || !got.Returned || len(got.Args) != 2 ||
		string(got.Args[1].Value) != "a\x00b" || !got.Args[1].String || !got.Args[1].Cut || got.Args[0].String {
		t.Errorf("decoded %+v, %v", got, err)
	}
	for errno, restarted := range map[int]bool{4: false, 511: false, 512: true, 513: true, 514: true, 515: false, 516: true, 517: false} {
		// As in logs of old versions.
		got, err := DecodeSyscall((&SyscallData{Result: -1, Errno: errno, Returned: true}).Append(nil))
		want := SyscallData{Result: -1, Errno: errno, Returned: true}
		if restarted {
			want = SyscallData{Restarted: errno, Returned: true}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("error number %d: %+v, %v", errno, got, err)
		}
		if again, err := DecodeSyscall(got.Append(nil)); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("error number %d again: %+v, %v", errno, again, err)
		}
	}
	f := ForkData{Child: 7, Kind: ForkThread}
	sig := SignalData{Signal: 15, Code: -6, Sender: 9, UID: 3}
	if got, err := DecodeFork(f.Append(nil)); err != nil || got != f {
		t.Errorf("decoded %+v, %v", got, err)
	}
	if got, err := DecodeSignal(sig.Append(nil)); err != nil || got != sig {
		t.Errorf("decoded %+v, %v", got, err)
	}
	for i := range b {
		DecodeSyscall(b[:i])
		DecodeFork(b[:min(i, 7)])
		DecodeSignal(b[:min(i, 15)])
	}
	if _, err := DecodeSyscall(b[:23]); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("cut data: %v", err)
	}
}
