package dump

import (
	"io"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/table"
	"github.com/posixtrace/posixtrace/cmd/internal/typename"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/cmd/internal/status"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// showEach writes one object for each input: a table or a line of JSON.
func showEach(env *cli.Env, inputs []*input, opt *options, fields func(*input) (output.Fields, error)) error {
	var b []byte
	for i, in := range inputs {
		err := in.readForward()
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

// readForward reads a log that is read forward to its end. Only then are its status and its event
// types known.
func (in *input) readForward() error {
	if in.log == nil || in.log.Seekable() {
		return nil
	}
	for {
		if _, err := in.reader.Next(); err != nil {
			if err == io.EOF {
				err = nil
			}
			return err
		}
	}
}

// attributeFields returns the attributes of a stream, followed by the origin of a log.
func attributeFields(in *input) (f output.Fields, err error) {
	var a posixtrace.StreamAttr
	if in.stream != nil {
		if a, err = in.stream.Attr(); err != nil {
			return nil, err
		}
	} else {
		a = in.reader.Attr()
	}
	f.Add("name", in.redact.String(a.Name))
	f.Add("create_time", a.CreateTime)
	f.Add("generation_version", a.GenerationVersion)
	f.Add("clock_resolution_ns", int64(a.ClockResolution))
	f.Add("inheritance", a.Inheritance.String())
	f.Add("stream_full_policy", a.StreamFullPolicy.String())
	f.Add("stream_size", a.StreamSize)
	f.Add("max_data_size", a.MaxDataSize)
	f.Add("log_full_policy", a.LogFullPolicy.String())
	f.Add("log_size", a.LogSize)
	if in.stream != nil {
		info, err := in.stream.Info()
		if err != nil {
			return nil, err
		}
		f.Add("pid", info.PID)
		f.Add("path", info.Path)
		f.Add("log", info.LogPath)
		return f, nil
	}
	o := in.reader.Origin()
	if o.PID != 0 { // not known if the process is younger than the log, as under ptrace-run
		f.Add("pid", o.PID)
	}
	f.Add("owner", o.Owner)
	f.Add("host", o.Host)
	f.Add("boot_id", o.BootID)
	f.Add("command", in.redact.Strings(o.Command))
	state, _ := in.reader.State()
	f.Add("state", state.String())
	return f, nil
}

func inputStatusFields(in *input) (f output.Fields, err error) {
	st, err := in.status()
	if err != nil {
		return nil, err
	}
	return status.Fields(f, st), nil
}

// showTypes writes the event types.
func showTypes(env *cli.Env, inputs []*input, opt *options) error {
	var b []byte
	t := table.Table{Header: []string{"id", "class", "name"}, Align: []table.Align{table.Right}, Width: env.Width()}
	for _, in := range inputs {
		types, err := in.eventTypes()
		if err != nil {
			env.Warn(cli.Failure(in.name, err))
			continue
		}
		for _, et := range types {
			if !opt.sel.wants(et.ID, et.Name) {
				continue
			}
			if opt.json() {
				f := output.Fields{{Key: "event", Value: et.Name}, {Key: "id", Value: uint64(et.ID)}, {Key: "class", Value: typename.Class(et.ID)}}
				b = f.AppendJSON(b)
				continue
			}
			t.Add(strconv.Itoa(int(et.ID)), typename.Class(et.ID), et.Name)
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

// eventTypes returns the event types of an input.
func (in *input) eventTypes() (types []posixtrace.EventType, err error) {
	if in.stream != nil {
		types, err = in.stream.EventTypes()
	} else if err = in.readForward(); err == nil {
		types, err = in.reader.EventTypes()
	}
	for i := range types {
		types[i].Name = in.redact.String(types[i].Name)
	}
	return types, err
}
