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
//	t-PID-START-ID   one of the above while process PID is still making it
//
// # Pages
//
// A process looks at one word of its page: zero means that no stream traces it.
// A page belongs to a process, not to a program: it stays through exec, and as
// its name holds the start time, a process number that is used again means
// another page.
//
// # Inheritance
//
// What a process inherits is decided once, when its page is made. The page is made by the first
// to need it: the process itself at its first trace point, or a controller.
// That can be long after the fork, so the decision goes by times, not by
// what is there at the moment. The rule:
//
// Let P be the process and Q its nearest ancestor that has a page. Let C be the
// child of Q that P descends from, or is. P gets of the entries of Q
//
//   - those with Inherit and (Self or Child), as Self and Inherit, and
//   - those with Child alone if P itself is the child of Q, as Self,
//
// each only if it was attached before C started. Nothing else, and that is right:
// what ancestors farther away pass on reached Q by the same rule, at the
// latest when its page was made, so it stands in Q's page; and what they got after Q, or
// the child of theirs that Q descends from, had started must not reach Q, hence
// nothing that Q forks (INH-03). The same argument shows why C's start decides and not P's: a
// stream that came when C ran already does not reach C, hence not its children.
// It also makes inheritance transitive and independent of the survival of
// those in between, once they have pages (INH-06).
//
// Ancestors are the living ones, found by parent numbers, and the leader of P's
// session, dead or alive: every member of a session descends from it, and its
// number is not given to another process while the session lasts, so its page
// can still be found when all in between have died and P was given to another parent. Of two
// ancestors the nearer is the one that started later. Where the
// chain is cut like that, C is not known and P's own start decides.
//
// The leader of P's process group counts as the leader of its session does if all members of
// the group descended from it when a stream that is inherited was first attached to
// it: a shell with job control makes each command such a group. The other commands of a
// pipeline are in the group of its first and do not descend from that, so a group that
// had such members then does not count.
//
// That is all the kernel keeps of a process's descent. Where those in between, or Q itself, have ended
// before P has a page, and P is in the session or the group of none that has one, or
// Q leads neither, P inherits nothing: its parent is init now, which says nothing.
//
// Start times count in hundredths of a second, and what is attached to Q counts as
// before all that starts in the same tick. So that those who were there before it
// do not profit, Attach first makes pages for Q's children of this very tick, or, if Q
// leads a session, lets the tick pass. A page once made does not change by what
// happens to ancestors.
//
// P joins the family of Q if it inherited a stream, else it founds its own: the
// same name has the same number in all processes of a family (INH-11). $PTRACE_STREAM
// is the business of the caller.
package registry
