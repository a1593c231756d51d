package dump

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// showEach writes one object for each input: a table or a line of JSON.
func showEach(env *cli.Env, inputs []*input, opt *options, fields func(*input) (output.Fields, error)) error {
	var b []byte
	for i, in := range inputs {
		err := in.finish()
		var f output.Fields
		if err == nil {
			f, err = fields(in)
		}
		if err != nil {
			env.Warn(cli.Failure(in.name, err))
			continue
		}
		if opt.json() {
			b = f.AppendJSON(b)
			continue
		}
		if i > 0 {
			b = append(b, '\n')
		}
		b = f.AppendTable(b)
	}
	if _, err := env.Stdout.Write(b); err != nil {
		return err
	}
	for _, in := range inputs {
		env.Warn(in.soundness())
	}
	return nil
}

// attributeFields returns the attributes of a stream.
func attributeFields(a posixtrace.StreamAttr, r *redact.Filter) (f output.Fields) {
	for name, v := range tool.Attributes(&a) {
		key := key(name)
		switch v := v.(type) {
		case string:
			f.Add(key, r.String(v))
		case time.Duration:
			f.Add(key+"_ns", int64(v))
		case posixtrace.Inheritance, posixtrace.FullPolicy:
			f.Add(key, fmt.Sprint(v))
		default:
			f.Add(key, v)
		}
	}
	return f
}

// key returns the key of a member, such as log_size of LogSize.
func key(member string) string {
	var b strings.Builder
	for i, c := range member {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

func inputAttributes(in *input) (output.Fields, error) { return in.attributes(in.redact) }

func inputStatusFields(in *input) (f output.Fields, err error) {
	st, err := in.status()
	if err != nil {
		return nil, err
	}
	return output.StatusFields(f, st), nil
}

// showTypes writes the event types.
func showTypes(env *cli.Env, inputs []*input, opt *options) error {
	var b []byte
	t := output.Table{Header: []string{"id", "class", "name"}, Align: []output.Align{output.Right}, Width: env.Width()}
	for _, in := range inputs {
		types, err := in.types()
		if err != nil {
			env.Warn(cli.Failure(in.name, err))
			continue
		}
		for _, et := range types {
			if !opt.sel.wants(et.ID, et.Name) {
				continue
			}
			if opt.json() {
				f := output.Fields{{Key: "event", Value: et.Name}, {Key: "id", Value: uint64(et.ID)}, {Key: "class", Value: catalog.TypeClass(et.ID)}}
				b = f.AppendJSON(b)
				continue
			}
			t.Add(strconv.Itoa(int(et.ID)), catalog.TypeClass(et.ID), et.Name)
		}
	}
	if !opt.json() {
		b = t.Append(b)
	}
	if _, err := env.Stdout.Write(b); err != nil {
		return err
	}
	for _, in := range inputs {
		env.Warn(in.soundness())
	}
	return nil
}

// types returns all event types of an input.
func (in *input) types() ([]posixtrace.EventType, error) {
	types, err := in.eventTypes()
	for i := range types {
		types[i].Name = in.redact.String(types[i].Name)
	}
	return types, err
}

// drain reads a log to its end.
func drain(r *posixtrace.Reader) error {
	for {
		if _, err := r.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
