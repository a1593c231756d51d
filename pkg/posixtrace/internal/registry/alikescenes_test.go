package registry

import (
	"testing"
)

// scenes are sequences that chance seldom makes.
var scenes = map[string]func(a *alike){
	"the session's leader is found": func(a *alike) {
		a.attachStream(0, 1, Self|Inherit)
		a.attachStream(0, 2, Self|Inherit|Child)
		a.attachStream(0, 3, Child)
		a.spawnAs(0, "child")
		a.spawnAs(1, "child")
		a.spawnAs(2, "child")
		a.end(1) // 2 is a child of init then, or of a reaper
		a.open(2)
		a.end(2)
		a.end(0)
		a.open(3)
	},
	"the group's leader is found": func(a *alike) {
		a.attachStream(0, 1, Self|Inherit)
		a.spawnAs(0, "group")
		a.attachStream(1, 2, Self|Inherit)
		a.spawnAs(1, "child")
		a.spawnAs(2, "child")
		a.end(2)
		a.end(1)
		a.open(3)
	},
	"a group without the mark is none": func(a *alike) {
		a.spawnAs(0, "group")
		a.open(1)
		a.ask(1, "attach 2 3")
		a.spawnAs(1, "child")
		a.spawnAs(2, "child")
		a.end(2)
		a.open(3)
	},
	"attached in the tick of the start": func(a *alike) {
		a.attachStream(0, 1, Self|Inherit)
		a.spawnAs(0, "child")
		a.attachedAt(0, 1)
		a.open(1)
	},
	"attached in the tick of the leader's start": func(a *alike) {
		a.attachStream(0, 1, Self|Inherit)
		a.spawnAs(0, "child")
		a.spawnAs(1, "child")
		a.end(1)
		a.attachedAt(0, 2)
		a.open(2)
	},
	"the names have become others": func(a *alike) {
		a.open(0)
		a.ask(0, "name one 9")
		a.tear(0, 4, 0)
		a.ask(0, "name two 9")
	},
	"the last pattern decides": func(a *alike) {
		a.open(0)
		for n := range 36 {
			a.makeStream(0, uint64(n+1), n)
		}
		for _, name := range []string{"n0", "n1", "x-1", "name", "-", "1"} {
			a.ask(0, "name %s 9", name)
		}
	},
	"names outnumber pages": func(a *alike) {
		a.open(0)
		for n := range 6 {
			a.leaveNames(n)
			a.tidy(0)
		}
	},
	"names of a stream and of a page stay": func(a *alike) {
		a.open(0)
		a.makeStream(0, 1, 0)
		for n := range 8 {
			a.leaveNames(n)
		}
		a.tidy(0)
	},
	"a removed page counts": func(a *alike) {
		a.open(0)
		a.ask(0, "name one 9")
		a.spawnAs(0, "child")
		a.open(1)
		a.removePage(0)
		a.leaveNames(0)
		a.leaveNames(1)
		a.leaveNames(2)
		a.leaveNames(3)
		a.open(0)
	},
	"the names come back with the page": func(a *alike) {
		a.open(0)
		a.ask(0, "name one 9")
		a.removeNames(0)
		a.removePage(0)
		a.open(0)
	},
	"a program counts its names": func(a *alike) {
		a.open(0)
		a.ask(0, "name one 1")
		a.ask(0, "name two 1")
		a.exec(0)
		a.open(0)
		a.ask(0, "name two 1")
		a.makePage(0)
		a.ask(0, "family 1")
	},
}

// TestCIsLikeGoInScenes is TestCIsLikeGo of sequences that are not random.
func TestCIsLikeGoInScenes(t *testing.T) {
	progs := stepPrograms(t)
	for name, play := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(newAlike(t, progs, 0))
		})
	}
}
