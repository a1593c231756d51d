package attr

import "fmt"

// Policy is a full policy, numbered as in the public package and in C.
type Policy uint64

// The policies.
const (
	Loop      = 1
	UntilFull = 2
	Flush     = 3
	Append    = 4
)

// PolicyNames are the names of the policies.
var PolicyNames = [...]string{"default", "loop", "until-full", "flush", "append"}

// String returns the name of the policy.
func (p Policy) String() string {
	if p < Policy(len(PolicyNames)) {
		return PolicyNames[p]
	}
	return fmt.Sprintf("policy %d", uint64(p))
}
