// Package agent implements posixtrace-agent, the process that works for a controller or analyzer in C. A controller is one
// process, and so are all that the agent shares with it: a Channel (package wire) of memory.
//
// The agent lives as long as the controller's program. It ends earlier when it has had no stream and
// no log for a while; the C library starts another one then. When the program ends, or executes
// another one, the agent shuts the streams down. It is no child of the controller, has no terminal
// and takes no signals.
//
// # Life of a controller in C
//
//  1. The first create or open starts the agent: a process that shares the controller's memory, but not
//     its descriptors, maps the channel, starts the agent and ends. The description that the mapping keeps
//     open holds a file lock on the channel. The agent gets that lock when the controller's memory goes,
//     by death or exec.
//  2. The agent's main thread owns a robust futex in the channel. The kernel marks it when the agent
//     ends, and every wait of the controller watches it. The next agent waits for the end of the other
//     threads, and with them of their locks.
//  3. A caller writes its request into one of 64 calls of the channel, rings, and looks at the answer for
//     some microseconds before it sleeps; so does the agent. A round trip takes 1 to 2 microseconds.
//  4. A reader call for which no event is ready is parked: one goroutine per stream looks for events for
//     all parked calls. The caller ends the wait, on a signal or at its deadline, with one
//     compare-and-swap. If it comes before the agent's, the agent keeps the event for the next call.
//     Events of a log are read ahead into the channel, in the form in which C reports them.
//
// The controller owns its streams, and the agent holds their files: the death of either orphans a
// stream. The agent or another process, the first that comes, completes it.
package agent
