package otlp

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Resource is what a log is about.
type Resource struct {
	// Identity distinguishes the log from all others. The ids depend on it.
	Identity   string
	Host       string
	Boot       string
	PID        int      // of the owner of the stream
	Command    []string // of the owner
	Name       string   // of the stream
	Created    string   // when the stream was created
	Attributes []Attribute
}

// Attribute is an attribute of the environment. It replaces one of the log with its key.
type Attribute struct{ Key, Value string }

const (
	maxCommand = 1 << 16
	maxValue   = 1 << 12
)

// NewResource returns the resource of a log, and the attributes of the environment.
func NewResource(r *posixtrace.Reader, environment []Attribute) *Resource {
	a, o := r.Attr(), r.Origin()
	res := &Resource{Host: o.Host, Boot: o.BootID, PID: o.Owner, Command: o.Command, Name: a.Name, Attributes: environment}
	res.Created = a.CreateTime.UTC().Format("2006-01-02T15:04:05.000000000Z")
	// Machines that are restored from one snapshot share their boot, and containers the ids of processes:
	// the log's own number differs all the same.
	res.Identity = strings.Join([]string{o.Host, o.BootID, res.Created, a.Name, strconv.Itoa(o.PID), strconv.FormatUint(o.LogID, 16)}, "\x00")
	return res
}

// service returns the name of a service: that of a stream without the number of its process, which
// ptrace-run gives it.
func service(name string) string {
	if i := strings.LastIndexByte(name, '-'); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
		return name[:i]
	}
	return name
}

func (r *Resource) appendJSON(b []byte) []byte {
	b = append(b, `{"attributes":`...)
	first := len(b)
	put := func(key, value string) {
		if value != "" && !slices.ContainsFunc(r.Attributes, func(a Attribute) bool { return a.Key == key }) {
			b = appendStringAttribute(b, attr+key+isString, value[:escape.Cut(value, maxValue)])
		}
	}
	put("service.name", service(r.Name))
	put("host.name", r.Host)
	put("os.type", "linux")
	put("posixtrace.boot_id", r.Boot)
	put("posixtrace.stream", r.Name)
	put("posixtrace.created", r.Created)
	if r.PID != 0 {
		b = appendIntAttribute(b, attr+"process.pid"+isInt, int64(r.PID))
	}
	args, size := r.Command, 0
	for i := range args {
		if size += len(args[i]) + 16; size > maxCommand {
			args = args[:i]
			break
		}
	}
	if len(args) > 0 {
		b = appendStrings(b, attr+"process.command_args"+isArray, args)
	}
	for _, a := range r.Attributes {
		key := string(appendString(nil, a.Key))
		b = append(appendValue(append(append(append(b, `,{"key":`...), key...), `,"value":`...), []byte(a.Value[:escape.Cut(a.Value, maxValue)])), '}')
	}
	b[first] = '['
	b = append(b, ']')
	if len(args) < len(r.Command) {
		b = append(b, `,"droppedAttributesCount":1`...)
	}
	return append(b, '}')
}

// TraceID returns the id of the trace of the log, if it has no trace context.
func (r *Resource) TraceID() string {
	var d ids
	d.init(r.Identity)
	return hex.EncodeToString(d.trace[:])
}
