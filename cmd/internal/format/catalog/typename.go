// The names of event types, and of sets of them.

package catalog

import (
	"strconv"
	"sync"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// TypeOrNumber returns the name of an event type, or "#ID" where it has none.
func TypeOrNumber(name string, id posixtrace.EventID) string {
	if name == "" {
		return "#" + strconv.FormatUint(uint64(id), 10)
	}
	return name
}

// Append appends the name of an event type as one word: escaped like other text, and
// with the separators of columns and list items (space and comma) escaped too.
func AppendType(b []byte, name string) []byte {
	start := 0
	for i := 0; i < len(name); i++ {
		if c := name[i]; c == ' ' || c == ',' {
			b = escape.Append(b, name[start:i])
			b = escape.AppendHexByte(b, c)
			start = i + 1
		}
	}
	return escape.Append(b, name[start:])
}

// TypeClass returns "system" or "user".
func TypeClass(id posixtrace.EventID) string {
	if id.System() {
		return "system"
	}
	return "user"
}

// typeClasses has the event types of each class, in the order of OfSet. It is computed on
// first use, since few programs need it.
var typeClasses = sync.OnceValue(func() (c [2][]posixtrace.EventID) {
	for id := posixtrace.EventID(1); id <= maxType; id++ {
		i := 1
		if id.System() {
			i = 0
		}
		c[i] = append(c[i], id)
	}
	return
})

var classNames = [2]string{"@system", "@user"}

// maxType is the largest number of an event type.
const maxType = 4095

// OfSet lists the members of a set of event types by their names. Sets may contain types that
// have no name yet. So OfSet lists a class of which the set has more than half as @user or
// @system, followed by !NAME for each missing type, and the full set as @all.
//
// A log may be full of sets, so the cost is little more than that of the list.
func TypesOfSet(name func(posixtrace.EventID) string, set *posixtrace.EventSet) []string {
	list := []string{}
	if set.Empty() {
		return list
	}
	var members, missing [maxType + 1]posixtrace.EventID
	everything := true
	for i, ids := range typeClasses() {
		in, out := 0, 0
		for _, id := range ids {
			if set.Has(id) {
				members[in] = id
				in++
			} else {
				missing[out] = id
				out++
			}
		}
		everything = everything && out == 0
		if in <= out {
			for _, id := range members[:in] {
				list = append(list, name(id))
			}
			continue
		}
		list = append(list, classNames[i])
		for _, id := range missing[:out] {
			list = append(list, "!"+name(id))
		}
	}
	if everything {
		return []string{"@all"}
	}
	return list
}
