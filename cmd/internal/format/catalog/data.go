package catalog

import "slices"

// moved has, by call, which of its arguments are bytes that the call moves: they come from a file, another
// process or the program, and go to another. Their place in the arguments begins with 0.
var moved = map[string]int{
	"read": 1, "pread64": 1, "readv": 1, "preadv": 1, "preadv2": 1,
	"write": 1, "pwrite64": 1, "writev": 1, "pwritev": 1, "pwritev2": 1,
	"recvfrom": 1, "recvmsg": 1, "recvmmsg": 1, "sendto": 1, "sendmsg": 1, "sendmmsg": 1,
	"getxattr": 2, "lgetxattr": 2, "fgetxattr": 2, "setxattr": 2, "lsetxattr": 2, "fsetxattr": 2,
	"getxattrat": 4, "setxattrat": 4,
	"vmsplice": 1, "process_vm_readv": 1, "process_vm_writev": 1,
	"mq_timedsend": 1, "mq_timedreceive": 1, "msgsnd": 1, "msgrcv": 1,
	"add_key": 2, "bpf": 1, "fsconfig": 3, "getrandom": 0, "init_module": 0, "syslog": 1,
}

// Moves reports whether an argument of a call is bytes that the call moves.
func Moves(name string, arg int) bool {
	n, ok := moved[name]
	return ok && n == arg
}

// Movers returns the names of the calls that move bytes, sorted.
func Movers() []string {
	var list []string
	for name := range moved {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
