package test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// peer is a C program that answers a line with a line.
type peer struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func startPeer(t *testing.T, program string) *peer {
	t.Helper()
	cmd := ctest.Command(t, ctest.TraceDir(t), program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endPeer(t, in, cmd) })
	return &peer{in, bufio.NewReader(out)}
}

func endPeer(t *testing.T, in io.Closer, cmd *exec.Cmd) {
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v", cmd.Path, err)
	}
}

func (p *peer) ask(t *testing.T, format string, args ...any) string {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.TrimSuffix(answer, "\n")
}

// want asks and compares.
func (p *peer) want(t *testing.T, want, format string, args ...any) {
	t.Helper()
	if got := p.ask(t, format, args...); got != want {
		t.Errorf("%s: %q, want %q", fmt.Sprintf(format, args...), got, want)
	}
}

// described is how testdata/attr.c prints an object with these settings, before any stream exists.
func described(t *testing.T, a posixtrace.Attr) string {
	t.Helper()
	// A stream gives what Go does not have before: the name as it is cut, and the trace system's own.
	s, err := posixtrace.Create(0, &posixtrace.Attr{Name: a.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	have, err := s.Attr()
	if err != nil {
		t.Fatal(err)
	}
	pick := func(v, otherwise int64) int64 {
		if v == 0 {
			return otherwise
		}
		return v
	}
	data := posixtrace.DefaultMaxDataSize
	if a.MaxDataSize != nil {
		data = *a.MaxDataSize
	}
	return fmt.Sprintf("0 %x|%s|0.0|0.%d|%d|%d|%d|%d|%d|%d|%d|%d|%d|%d", have.Name, have.GenerationVersion,
		have.ClockResolution, a.Inheritance, pick(int64(a.StreamFullPolicy), int64(posixtrace.PolicyLoop)),
		pick(int64(a.LogFullPolicy), int64(posixtrace.PolicyLoop)), pick(a.StreamSize, posixtrace.DefaultStreamSize), data,
		pick(a.LogSize, posixtrace.DefaultLogSize), a.MaxUserEventSize(0), a.MaxUserEventSize(9), a.MaxUserEventSize(1<<40),
		a.MaxSystemEventSize())
}

// Attributes in C and in Go have the same defaults, and what is set reads back alike.
func TestAttributesAgree(t *testing.T) {
	p := startPeer(t, ctest.C(t, "testdata/attr.c"))
	p.want(t, "22", "get")
	p.want(t, "22", "set inherited 1")
	p.want(t, "22", "destroy")
	p.want(t, "0", "init")
	p.want(t, described(t, posixtrace.Attr{}), "get")

	a := posixtrace.Attr{Name: "größe", Inheritance: posixtrace.InheritChildren, StreamFullPolicy: posixtrace.PolicyFlush,
		LogFullPolicy: posixtrace.PolicyAppend, StreamSize: 100_000, MaxDataSize: new(0), LogSize: 5 << 20}
	p.want(t, "0", "name %x", a.Name)
	p.want(t, "0", "set inherited %d", a.Inheritance)
	p.want(t, "0", "set streamfullpolicy %d", a.StreamFullPolicy)
	p.want(t, "0", "set logfullpolicy %d", a.LogFullPolicy)
	p.want(t, "0", "set streamsize %d", a.StreamSize)
	p.want(t, "0", "set maxdatasize %d", *a.MaxDataSize)
	p.want(t, "0", "set logsize %d", a.LogSize)
	p.want(t, described(t, a), "get")
	// A value that is none of an attribute's changes nothing.
	for _, refused := range []string{"inherited 2", "inherited -1", "streamfullpolicy 0", "streamfullpolicy 4", "streamfullpolicy -1",
		"logfullpolicy 0", "logfullpolicy 3", "logfullpolicy 5"} {
		p.want(t, "22", "set %s", refused)
	}
	p.want(t, described(t, a), "get")
	for _, n := range []int{1, 7, 8, 1023, 1039, 1040, 1041, 32767, 32768, 32769, 1 << 40} {
		a.MaxDataSize = &n
		p.want(t, "0", "set maxdatasize %d", n)
		p.want(t, described(t, a), "get")
	}
	p.want(t, "0", "destroy")
	p.want(t, "22", "get")
	p.want(t, "22", "destroy")
	p.want(t, "0", "init")
	p.want(t, described(t, posixtrace.Attr{}), "get")
}

// C and Go cut long names at the same byte, whatever the bytes are.
func TestNamesAreCutAlike(t *testing.T) {
	p := startPeer(t, ctest.C(t, "testdata/attr.c"))
	p.want(t, "0", "init")
	rnd := rand.New(rand.NewPCG(16, 1))
	ends := []string{"", "é", "€", "😀", "\x80\x80\x80\x80\x80\x80", "\xe0\x80", "\xed\xa0", "\xf4\x90\x80", "\xf0\x80\x80", "\xc0\x80", "\xff", "\xf8\x80\x80\x80"}
	check := func(name string) {
		t.Helper()
		p.want(t, "0", "name %s", hex.EncodeToString([]byte(name)))
		got, _, _ := strings.Cut(strings.TrimPrefix(p.ask(t, "get"), "0 "), "|")
		want, _, _ := strings.Cut(strings.TrimPrefix(described(t, posixtrace.Attr{Name: name}), "0 "), "|")
		if got != want {
			t.Errorf("a name that ends in %q became one that ends in %q, want %q", name[max(0, len(name)-60):], got[max(0, len(got)-16):], want[max(0, len(want)-16):])
		}
	}
	for n := 249; n <= 257; n++ {
		for _, end := range ends {
			check(strings.Repeat("x", n) + end + end + end)
		}
	}
	for range 200 {
		name := []byte(strings.Repeat("x", 248))
		for range 10 {
			name = append(name, []byte{0x41, 0x80, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xe1, 0xed, 0xf0, 0xf1, 0xf4, 0xf5, 0xff}[rnd.IntN(16)])
		}
		check(string(name))
	}
}

func TestArgumentsThatAreNoObject(t *testing.T) {
	ctest.Run(t, ctest.C(t, "testdata/attr_null.c"))
}

// Sets in C and in Go have the same members after the same calls.
func TestEventSetsAgree(t *testing.T) {
	p := startPeer(t, ctest.C(t, "testdata/eventset.c"))
	var s posixtrace.EventSet
	members := func() string {
		var b strings.Builder
		for id := range posixtrace.EventID(5000) {
			if s.Has(id) {
				fmt.Fprintf(&b, " %d", id)
			}
		}
		return b.String()
	}
	errno := func(err error) int {
		if err != nil {
			return 22
		}
		return 0
	}
	p.want(t, "0 7", "empty")
	for what := range 4 {
		err := s.Fill(posixtrace.FillWhat(what))
		p.want(t, fmt.Sprintf("%d 7%s", errno(err), members()), "fill %d", what)
	}
	p.ask(t, "empty")
	s = posixtrace.EventSet{}
	for _, id := range []int64{0, 1, 31, 32, 33, 63, 64, 65, 3583, 3584, 4095, 4096, 1 << 31, 1<<32 - 1, 33} {
		p.want(t, fmt.Sprintf("%d 7%s", errno(s.Add(posixtrace.EventID(id))), members()), "add %d", id)
	}
	p.want(t, "0 1"+members(), "has 64")
	p.want(t, "0 0"+members(), "has 66")
	p.want(t, "22 7"+members(), "has 4096")
	for _, id := range []int64{0, 1, 31, 64, 64, 4095, 4096} {
		p.want(t, fmt.Sprintf("%d 7%s", errno(s.Del(posixtrace.EventID(id))), members()), "del %d", id)
	}
}
