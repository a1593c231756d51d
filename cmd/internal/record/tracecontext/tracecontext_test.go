package tracecontext

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00f067aa0ba902b7"
	valid  = "00-" + trace + "-" + parent + "-01"
)

// Parse follows section 3.2 of Trace Context.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		value string
		flags int // -1: malformed
	}{
		{valid, 1},
		{"00-" + trace + "-" + parent + "-00", 0},
		{"00-" + trace + "-" + parent + "-03", 3},
		{"00-" + trace + "-" + parent + "-ff", 3}, // reserved flags are not passed on
		// Later versions: the start is the same, and there may be more behind a hyphen.
		{"01-" + trace + "-" + parent + "-01", 1},
		{"cc-" + trace + "-" + parent + "-01-what-the-future-will-be", 1},
		{"cc-" + trace + "-" + parent + "-01-", 1},
		{"cc-" + trace + "-" + parent + "-01.what", -1},
		{"cc-" + trace + "-" + parent + "-0", -1},
		{"ff-" + trace + "-" + parent + "-01", -1},

		{"", -1},
		{" " + valid, -1},
		{valid + " ", -1},
		{valid + "-", -1},
		{valid[:len(valid)-1], -1},
		{strings.ToUpper(valid), -1},
		{strings.Replace(valid, "4bf", "4Bf", 1), -1},
		{strings.Replace(valid, "-01", "-0A", 1), -1},
		{strings.Replace(valid, "00-", "0g-", 1), -1},
		{strings.Replace(valid, "b7-", "b7_", 1), -1},
		{strings.Replace(valid, trace, trace[1:], 1), -1},
		{strings.Replace(valid, trace, trace+"0", 1), -1},
		{strings.Replace(valid, trace, strings.Repeat("0", 32), 1), -1},
		{strings.Replace(valid, parent, strings.Repeat("0", 16), 1), -1},
		{strings.Replace(valid, "4b", "\xff\xff", 1), -1},
		{"cc-" + trace + "-" + parent + "-01-" + strings.Repeat("x", 1<<20), -1},
	} {
		d, err := Parse(tt.value)
		if malformed := tt.flags < 0; (err != nil) != malformed || malformed && d != (posixtrace.ContextData{}) {
			t.Errorf("Parse(%.80q) = %v, %v", tt.value, d, err)
			continue
		}
		if err == nil && (hex.EncodeToString(d.TraceID[:]) != trace || hex.EncodeToString(d.SpanID[:]) != parent || int(d.Flags) != tt.flags) {
			t.Errorf("Parse(%.80q) = %x", tt.value, d)
		}
	}
}

// A new span has the trace and the flags of the value, its span as parent, an id of its own, and
// version 00.
func TestNew(t *testing.T) {
	ids := map[string]bool{}
	for range 100 {
		d, err := New("cc-"+trace+"-"+parent+"-01-more", " a=b ")
		if err != nil {
			t.Fatal(err)
		}
		got := Format(&d)
		if !regexp.MustCompile(`^00-`+trace+`-[0-9a-f]{16}-01$`).MatchString(got) || ids[got] || strings.Contains(got, parent) ||
			hex.EncodeToString(d.Parent[:]) != parent || d.State != " a=b " {
			t.Fatalf("%s, %x", got, d)
		}
		ids[got] = true
	}
	if d, err := New(valid, "a b=c"); err != nil || d.State != "" {
		t.Errorf("with a malformed state: %v, %v", d, err)
	}
	if _, err := New("x", "a=b"); err != ErrMalformed {
		t.Errorf("without a parent: %v", err)
	}
}

// ValidState follows section 3.3.
func TestValidState(t *testing.T) {
	key, value := strings.Repeat("k", 256), strings.Repeat("v", 256)
	many := strings.Repeat("%=1,", 32)
	for i := range 32 {
		many = strings.Replace(many, "%", "k"+string(rune('a'+i%26))+string(rune('a'+i/26)), 1)
	}
	for _, tt := range []struct {
		value string
		valid bool
	}{
		{"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true},
		{"foo=1 , \t bar=2,", true},
		{",,a=1", true},
		{"fw529a3039@dt=FfPf@:;~ !", true},
		{"0a-_*/=1", true},
		{key + "=" + value, true},
		{many, true},

		{"", true},
		{" ,\t,", true},
		{strings.Repeat(",", 5000) + "a=1", true},

		{"a", false},
		{"a=", false},
		{"=a", false},
		{"A=1", false},
		{"a=b=c", false},
		{"a=1;b=2,a=1", false},
		{"_a=1", false},
		{"a b=1", false},
		{"a=\x7f", false},
		{"a=é", false},
		{"a=1\n", false},
		{key + "k=1", false},
		{"k=" + value + "v", false},
		{many + "z=1", false},
	} {
		if got := ValidState(tt.value); got != tt.valid {
			t.Errorf("ValidState(%.80q) = %v", tt.value, got)
		}
	}
}

// What Parse accepts has the form of the standard, and Format makes a value from it that Parse
// reads to the same.
func FuzzParse(f *testing.F) {
	f.Add(valid, "a=b")
	f.Add("cc-"+trace+"-"+parent+"-ff-x", "a@b= c,d=e")
	f.Add("00-"+trace+"-"+parent+"-0", ",")
	form := regexp.MustCompile(`(?s)^([0-9a-e][0-9a-f]|f[0-9a-e])-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$`)
	f.Fuzz(func(t *testing.T, value, state string) {
		d, err := New(value, state)
		if err != nil {
			if d != (posixtrace.ContextData{}) {
				t.Fatalf("%v with an error", d)
			}
			return
		}
		if !form.MatchString(value) || d.TraceID == [16]byte{} || d.Parent == [8]byte{} || d.SpanID == [8]byte{} {
			t.Fatalf("accepted %q", value)
		}
		again, err := Parse(Format(&d))
		if err != nil || again.TraceID != d.TraceID || again.SpanID != d.SpanID || again.Flags != d.Flags {
			t.Fatalf("%q reads as %v, %v", Format(&d), again, err)
		}
		if d.State != "" && (!ValidState(d.State) || bytes.ContainsAny([]byte(d.State), "\n\x00\x1b")) {
			t.Fatalf("state %q", d.State)
		}
	})
}
