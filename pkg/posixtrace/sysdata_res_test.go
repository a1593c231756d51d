package posixtrace

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A reader of all samples has the processes of each. One that lacks some says so until the next full one,
// and then has them again.
func TestResSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var tree []ResProcess
	var writer, reader, late ResProcesses
	bytes, changes := 0, 0
	for n := 1; n <= 60; n++ {
		for range r.IntN(8) {
			if len(tree) > 0 && r.IntN(3) == 0 {
				tree = slices.Delete(tree, 0, 1)
			}
			tree = append(tree, ResProcess{PID: 1 + r.IntN(1<<22), Parent: 1 + r.IntN(100), Program: "cc1plus", Threads: 1, Descriptors: 4})
		}
		for i := range tree {
			if p := &tree[i]; r.IntN(2) == 0 {
				p.CPU += time.Duration(r.IntN(100)) * 10 * time.Millisecond
				p.RSS = int64(r.IntN(1<<20)) << 12
				p.Written += int64(r.IntN(100)) << 12
			}
		}
		slices.SortFunc(tree, func(p, q ResProcess) int { return p.PID - q.PID })
		tree = slices.CompactFunc(tree, func(p, q ResProcess) bool { return p.PID == q.PID })
		want := map[int]ResProcess{}
		for _, p := range tree {
			want[p.PID] = p
		}
		d := ResSampleData{Number: n, Full: n%16 == 1, Processes: len(tree)}
		list := writer.Encode(nil, &d, slices.Clone(tree), 400)
		for i, data := range list {
			if len(data) > 400 {
				t.Fatalf("a part of %d bytes", len(data))
			}
			got, err := DecodeResSample(data)
			if err != nil {
				t.Fatal(err)
			}
			if n%16 != 1 {
				bytes += len(data) - resDataSize
				changes += len(got.Changes)
			}
			complete := reader.Add(&got)
			if complete != (i == len(list)-1) {
				t.Fatalf("sample %d, part %d of %d: complete: %v", n, i, len(list), complete)
			}
			if n == 5 || n == 37 && i > 0 {
				continue // lost
			}
			complete = late.Add(&got)
			if known := n < 5 || n >= 17 && n < 37 || n >= 49; complete != (known && i == len(list)-1) && n != 37 {
				t.Fatalf("sample %d with losses: complete: %v", n, complete)
			}
		}
		if !maps.Equal(reader.All(), want) {
			t.Fatalf("sample %d: %v, want %v", n, reader.All(), want)
		}
		if n >= 49 && !maps.Equal(late.All(), want) {
			t.Fatalf("sample %d with losses: %v, want %v", n, late.All(), want)
		}
	}
	if each := bytes / changes; each > 20 {
		t.Errorf("%d bytes for each process that changes", each)
	}
}

// A log of samples that each add what they can stays bounded.
func TestResSamplesAreBounded(t *testing.T) {
	var r ResProcesses
	d := ResSampleData{Number: 1, Full: true}
	for i := range 1000 {
		d.Changes = append(d.Changes, ResProcess{PID: 1 + i, Program: strings.Repeat("x", 100), RSS: maxResNumber << 10, CPU: maxResNumber * resUnit, Threads: 1<<31 - 1})
	}
	for range 100 {
		e, err := DecodeResSample(d.Append(nil))
		if err != nil || len(e.Changes) != 1000 {
			t.Fatal(len(e.Changes), err)
		}
		r.Add(&e)
		d.Full = false
		d.Number++
	}
	for _, p := range r.All() {
		if p.RSS < 0 || p.CPU < 0 || p.Threads < 0 || len(p.Program) > maxResProgram {
			t.Fatalf("%+v", p)
		}
	}
}
