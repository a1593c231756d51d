// Cgo is a program in Go and C, each of which has trace points of its own library.
package main

/*
#include <stdio.h>
#include <stdlib.h>
#include <trace.h>

static unsigned open_id(int i)
{
	char name[32];
	trace_event_id_t id;
	snprintf(name, sizeof name, "c %d", i);
	int err = posix_trace_eventid_open(name, &id);
	if (err)
		abort();
	return id;
}

static void record(unsigned id, int n)
{
	for (int i = 0; i < n; i++)
		posix_trace_event(id, &i, sizeof i);
}
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const events = 2000

func main() {
	var wg sync.WaitGroup
	wg.Go(func() {
		id := posixtrace.MustEventID("go")
		for i := range events {
			posixtrace.Event(id, binary.LittleEndian.AppendUint32(nil, uint32(i)))
		}
	})
	wg.Go(func() { C.record(C.open_id(0), events) })
	wg.Wait()
	if len(os.Args) == 1 {
		return
	}
	// The names of both count.
	named := 2
	for i := range 600 {
		if id, err := posixtrace.OpenEventID(fmt.Sprint("go ", i)); err == nil && !id.Unnamed() {
			named++
		}
		if id := C.open_id(C.int(i + 1)); id != C.POSIX_TRACE_UNNAMED_USER_EVENT {
			named++
		}
	}
	fmt.Println(named)
}
