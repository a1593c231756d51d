package sys

import (
	"runtime"
	"runtime/debug"
)

// runtimeError calls f and returns the runtime error that ended f, nil if f returned. A fault on
// any address is such an error here, where it would otherwise end the program. Other panics of f
// pass through.
func runtimeError(f func()) (err runtime.Error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(runtime.Error)
			if !ok {
				panic(p)
			}
			err = e
		}
	}()
	f()
	return nil
}

// faults calls f and reports whether a fault on an address ended it.
func faults(f func()) bool {
	err := runtimeError(f)
	if err == nil {
		return false
	}
	if _, ok := err.(interface{ Addr() uintptr }); !ok {
		panic(err)
	}
	return true
}
