package event

import (
	"slices"
	"testing"
)

func TestPredefined(t *testing.T) {
	seen := map[string]ID{}
	for _, p := range Predefined {
		if old := seen[p.Name]; old != 0 {
			t.Errorf("%d and %d are both %q", old, p.ID, p.Name)
		}
		seen[p.Name] = p.ID
		if PredefinedID(p.Name) != p.ID || PredefinedName(p.ID) != p.Name {
			t.Errorf("%q is %d, %d is %q", p.Name, PredefinedID(p.Name), p.ID, PredefinedName(p.ID))
		}
	}
	if PredefinedID("") != 0 || PredefinedName(0) != "" || PredefinedName(FirstUser) != "" {
		t.Error("a name or a number that is not predefined is")
	}
}

// Each number is that of a user type or of a system type, and of one only.
func TestClasses(t *testing.T) {
	system := System()
	for id := ID(0); id < Max+2; id++ {
		valid := id > 0 && id < Max
		if id.Valid() != valid || (id.User() || id.System()) != valid || id.User() && id.System() {
			t.Fatalf("%d: valid %v, user %v, system %v", id, id.Valid(), id.User(), id.System())
		}
		if id < Max && system.Has(id) != id.System() {
			t.Fatalf("%d: the set of system types has it: %v", id, system.Has(id))
		}
	}
}

func TestSetReadsBack(t *testing.T) {
	var one Set
	one.Add(Max - 1)
	for name, s := range map[string]Set{"none": {}, "all": All(), "the last": one, "system": System()} {
		b := AppendSet(nil, &s)
		got, rest, err := DecodeSet(append(slices.Clone(b), "rest"...))
		if got != s || string(rest) != "rest" || err != nil || len(b) > MaxEncodedSet {
			t.Errorf("%s: %d bytes behind it, %v", name, len(rest), err)
		}
		for n := range b {
			if _, _, err := DecodeSet(b[:n]); err == nil {
				t.Errorf("%s: %d of %d bytes are a set", name, n, len(b))
			}
		}
	}
}
