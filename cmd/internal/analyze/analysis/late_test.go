package analysis

import "testing"

// The fork of a process may be recorded after its own first events, up to its end: the parent was
// slow. Its command is nevertheless one of the parent, and there is no other.
func TestForkRecordedLate(t *testing.T) {
	for name, events := range map[string]func(w *written, fork func(at int64)){
		"in order":         func(w *written, fork func(int64)) { fork(10); w.exec(11, 2, "/bin/sh"); w.exit(500, 2, 0, 7, 0) },
		"after the exec":   func(w *written, fork func(int64)) { w.exec(11, 2, "/bin/sh"); fork(400); w.exit(500, 2, 0, 7, 0) },
		"after the end":    func(w *written, fork func(int64)) { w.exec(11, 2, "/bin/sh"); w.exit(500, 2, 0, 7, 0); fork(900) },
		"at the same time": func(w *written, fork func(int64)) { w.exec(11, 2, "/bin/sh"); fork(11); w.exit(500, 2, 0, 7, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			w, o := observe(t)
			w.exec(0, 1, "/bin/make")
			events(w, func(at int64) { w.fork(at, 1, 2) })
			w.exit(1000, 1, 0, 10, 0)
			w.a.Finish()
			o.want(`
			make 0-1000
			  sh 11-500
			`)
			list, _ := w.a.Commands()
			if c := command(t, list, "make"); c.CPU != 3*ms || c.State != Ended {
				t.Errorf("make: processor time %d, state %d", c.CPU/ms, c.State)
			}
			if n := w.a.CommandTotals(); n.Commands != 2 || n.Unknown != 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// The same of a process that executes nothing.
func TestForkRecordedLateWithoutExec(t *testing.T) {
	for name, events := range map[string]struct {
		add  func(w *written, fork func(at int64))
		want string
	}{
		"after a fork of its own": {func(w *written, fork func(int64)) {
			w.fork(20, 2, 3)
			w.exec(21, 3, "/bin/a")
			fork(300)
			w.exit(400, 3, 0, 0, 0)
			w.exit(500, 2, 4, 0, 0)
		}, `
			sh 0-1000
			  sh (fork) 20-500 failed 4
			    a 21-400
			`},
		"after the end": {func(w *written, fork func(int64)) {
			w.exit(20, 2, 4, 0, 0)
			fork(300)
		}, `
			sh 0-1000
			  sh (fork) 300-300 failed 4
			`},
	} {
		t.Run(name, func(t *testing.T) {
			w, o := observe(t)
			w.exec(0, 1, "/bin/sh")
			events.add(w, func(at int64) { w.fork(at, 1, 2) })
			w.exit(1000, 1, 0, 0, 0)
			w.a.Finish()
			o.want(events.want)
			if n := w.a.CommandTotals().Unknown; n != 0 {
				t.Errorf("%d unknown", n)
			}
		})
	}
}

// An id that is used again much later is that of another process.
func TestForkOfReusedID(t *testing.T) {
	w, o := observe(t)
	w.exec(0, 1, "/bin/make")
	w.exec(10, 2, "/bin/a") // the fork is lost
	w.exit(20, 2, 0, 0, 0)
	w.exec(30, 3, "/bin/b") // the fork and the end are lost
	w.fork(3000, 1, 2)
	w.fork(3000, 1, 3)
	w.exec(3001, 2, "/bin/c")
	w.exec(3001, 3, "/bin/d")
	w.exit(3002, 2, 0, 0, 0)
	w.exit(3002, 3, 0, 0, 0)
	w.exit(4000, 1, 0, 0, 0)
	w.a.Finish()
	o.want(`
	make 0-4000
	  a 10-20
	  b 30-3000 lost
	  c 3001-3002
	  d 3001-3002
	`)
}
