// Package registry knows which streams trace which process, the names of event
// types, and how a process finds the streams that it inherits.
//
// Everything is a file in one private directory per user:
//
//	lock             held to create, change or remove streams and pages
//	s-ID             a stream (package stream knows what is inside)
//	p-PID-START      the page of a process: the streams attached to it
//	n-FAMILY         the names of a family of processes
//	l-ID             the spool of a stream: a directory, see SpoolDir
//	t-PID-START-NAMESPACE-ID   one of the above while process PID is still creating it
//
// A process is a pid and its start time, so a reused pid is another process. Streams and pages record
// their pid namespace; streams of another namespace are left alone, because all their processes would
// seem dead. Only the initial namespace can find out that one has ended, and the next sweep there
// removes its remains.
//
// Create takes the directory's lock and allocates the whole stream under a temporary name: a hole in a
// full tmpfs would kill a writer with SIGBUS. Then it publishes the file and attaches it to a page. The
// log starts behind that, without the lock: a log may be a full pipe.
//
// The order of locks is directory, stream, names. A new name passes the filters before it is published,
// under the lock of the names alone; filters change under that lock, too. A trace point waits for none
// of the three: it tries, and continues without.
//
// # Pages
//
// A process looks at one word of its page: zero means that no stream traces it. Every change of the
// page's streams changes the word. A page belongs to a process, not to a program: it survives exec. The
// pages and names of dead processes are swept when other processes create theirs.
//
// A page may lose its name while its process uses it: RemoveIPC of systemd empties /dev/shm when a user
// logs out. Each program keeps a descriptor of its page. Before a page is created for another process,
// that process's descriptors are searched for a page without a name; its content is adopted, and a mark
// in the old page sends the process to the new one.
//
// # Inheritance
//
// What a process inherits is decided once, by the first process that needs its page and creates it: the
// process itself at its first trace point, or a controller. That can be long after the fork, so the
// decision compares start times.
//
//		Q   the nearest ancestor of P that has a page
//		|
//		C   the child of Q that P descends from, or P itself
//		|
//		P   the process whose page is created
//
//	 1. P gets the entries of Q with Inherit and (Self or Child), as Self and Inherit. Entries of ancestors
//	    farther away reached Q by the same rule.
//	 2. P gets the entries of Q with Child alone, as Self, if P is C: they are for children only.
//	 3. Each entry counts only if it was attached before C started. A stream that came later does not
//	    reach C, hence not its children (INH-03). Inheritance is therefore transitive and does not depend
//	    on the survival of processes in between, once they have pages (INH-06).
//	 4. The leader of P's session is an ancestor, dead or alive: every member of a session descends from
//	    it, and its number is not reused while the session lasts. So is the leader of P's process group, if
//	    all members of the group descended from it when an inherited stream was first attached to it: a
//	    shell with job control makes each command such a group, but the commands of a pipeline do not
//	    descend from the first. Of two ancestors the nearer is the one that started later. If the chain to
//	    it is cut, C is not known, and P's own start decides.
//	 5. Otherwise P inherits nothing: its parent is init, and the kernel keeps nothing else of its descent.
//
// Start times count in hundredths of a second, and what is attached to Q counts as attached before all
// that starts in the same tick. So Attach first creates pages for Q's children of this very tick, or, if
// Q leads a session, lets the tick pass. A page does not change by what happens to ancestors.
//
// P joins the family of Q if it inherited a stream, and founds its own otherwise: the same name has the
// same number in all processes of a family (INH-11). The caller handles $PTRACE_STREAM.
package registry
