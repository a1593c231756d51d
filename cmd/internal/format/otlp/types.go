package otlp

import (
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// kind is what the events of a type are for spans.
type kind uint8

const (
	other    kind = iota
	begins        // a span
	ends          // a span
	execs         // a process has a program
	forks         // a process begins
	exits         // a process ends
	contexts      // describes the next span
	logged        // always a log record: output, and marks of the trace system
)

// eventType is a type of events, with the parts of JSON that depend on it alone.
type eventType struct {
	name   []byte // a JSON string
	raw    []byte // an attribute, if the name is not UTF-8
	record []byte // members of a log record
	named  []byte // an attribute of one: Collectors such as 0.119 drop the member eventName
	kind   kind
	span   *spanType // of begins and ends
	call   bool      // system calls
}

func (l *Log) typeOf(id posixtrace.EventID) *eventType {
	if t, known := l.types.Get(id); known {
		return t
	}
	name := l.name(id)
	t := l.newType(id, catalog.TypeOrNumber(name, id))
	if name != "" {
		l.types.Put(id, t)
	}
	return t
}

func (l *Log) newType(id posixtrace.EventID, name string) *eventType {
	t := &eventType{name: jsonName(name), raw: rawName(name)}
	t.record = append(append(t.record, `,"eventName":`...), t.name...)
	t.named = append(append(append(t.named, `,{"key":"event.name","value":{"stringValue":`...), t.name...), `}}`...)
	if id.System() {
		t.kind = systemKind(id)
		t.call = id > posixtrace.EventUnnamed && strings.HasPrefix(name, "syscall.")
		switch id {
		case posixtrace.EventOutputStdout:
			t.record = append(t.record, `,"severityNumber":9,"severityText":"INFO"`...)
		case posixtrace.EventOutputStderr:
			t.record = append(t.record, `,"severityNumber":17,"severityText":"ERROR"`...)
		}
		return t
	}
	for suffix, k := range map[string]kind{".begin": begins, ".end": ends} {
		if of, ok := strings.CutSuffix(name, suffix); ok && of != "" {
			t.kind, t.span = k, l.spanType(of)
		}
	}
	return t
}

func systemKind(id posixtrace.EventID) kind {
	switch id {
	case posixtrace.EventProcExec:
		return execs
	case posixtrace.EventProcFork:
		return forks
	case posixtrace.EventProcExit:
		return exits
	case posixtrace.EventProcContext:
		return contexts
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr, posixtrace.EventOverflow, posixtrace.EventResume,
		posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventFilter, posixtrace.EventFlushStart, posixtrace.EventFlushStop,
		posixtrace.EventError, posixtrace.EventProcTimeout, posixtrace.EventHangThread, posixtrace.EventResSample, posixtrace.EventFileAccess:
		return logged
	}
	return other
}

func (l *Log) spanType(name string) *spanType {
	t := l.names[name]
	if t == nil {
		t = &spanType{name: jsonName(name), raw: rawName(name), hash: hash(name)}
		l.names[name] = t
	}
	return t
}

// jsonName returns a name as a JSON string. Bytes that are not UTF-8 are escaped as in text.
func jsonName(name string) []byte {
	if !utf8.ValidString(name) {
		name = escape.String(name)
	}
	return appendString(nil, name)
}

// rawName returns an attribute with the bytes of a name that is not UTF-8.
func rawName(name string) []byte {
	if utf8.ValidString(name) {
		return nil
	}
	return appendStringAttribute(nil, attr+"posixtrace.name"+isString, name)
}
