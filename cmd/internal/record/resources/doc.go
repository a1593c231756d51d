// Package resources samples what a tree of processes and its cgroup use: from /proc and the cgroup's files,
// without ptrace(2). The processes do not notice.
//
// tree.go has the processes, cgroup.go the cgroup, kmsg.go what the kernel's log says of the OOM killer,
// sampler.go the rhythm.
package resources
