package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
)

// readWant returns the attributes that the resource of a log must have.
func readWant(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	want := map[string]string{}
	for in := bufio.NewScanner(f); in.Scan(); {
		if key, value, ok := strings.Cut(in.Text(), "\t"); ok {
			want[key] = value
		}
	}
	return want, nil
}

// sentAgain reports whether a log, or a part of it, may have been sent more than once.
func sentAgain(log string) (bool, error) {
	if _, err := os.Stat(log + ".again"); err == nil {
		return true, nil
	}
	said, err := os.ReadFile(log + ".said")
	return strings.Contains(string(said), " kept in "), err
}

// lostOf reports how many events a log has lost.
func lostOf(path string) (n int64, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(b), &n)
	return n, err
}

// spans compares what Jaeger has with the lines of ptrace-export, and with the story of each log.
func spans(url, dir string) error {
	list, err := logs(dir)
	if err != nil {
		return err
	}
	var f faults
	var total, events, again, hosts = 0, 0, 0, map[string]bool{}
	for _, log := range list {
		written, records, err := readOTLP(log + ".otlp.jsonl")
		if err != nil {
			return err
		}
		want := map[string]*span{}
		traces := map[string]bool{}
		for _, s := range written {
			if want[s.SpanID] != nil {
				f.add("%s: two spans have the id %s", log, s.SpanID)
			}
			want[s.SpanID] = s
			traces[s.TraceID] = true
		}
		repeated, err := sentAgain(log)
		if err != nil {
			return err
		}
		var got []*jaegerSpan
		for id := range traces {
			stored, err := query(url, id)
			if err != nil {
				return err
			}
			seen := map[string]string{}
			for _, s := range stored {
				before, ok := seen[s.SpanID]
				if !ok {
					seen[s.SpanID] = s.text()
					got = append(got, s)
					continue
				}
				again++
				if before != s.text() {
					f.add("%s: the span %s was sent twice, and differs:\n%s", log, s.SpanID, difference(before, s.text()))
				}
				if !repeated {
					f.add("%s: the span %s is stored twice, but was sent once", log, s.SpanID)
				}
			}
		}
		total += len(got)
		found := map[string]bool{}
		for _, s := range got {
			w := want[s.SpanID]
			switch {
			case w == nil:
				f.add("%s: Jaeger has a span %s %s that is not in the log", log, s.SpanID, s.OperationName)
				continue
			case s.text() != w.text():
				f.add("%s: the span %s %s differs:\n%s", log, s.SpanID, s.OperationName, difference(s.text(), w.text()))
			}
			found[s.SpanID] = true
			events += len(s.Logs)
		}
		for id, s := range want {
			if !found[id] {
				f.add("%s: Jaeger lacks the span %s %s", log, id, s.Name)
			}
		}
		attributes, err := readWant(log + ".want")
		if err != nil {
			return err
		}
		for _, s := range got {
			hosts[s.attribute("host.name")] = true
			for key, value := range attributes {
				if has := s.attribute(key); has != value {
					f.add("%s: %s: %s is %q, not %q", log, s.OperationName, key, has, value)
				}
			}
		}
		lost, err := lostOf(log + ".lost")
		if err != nil {
			return err
		}
		if lost > 0 {
			var n int64
			for _, s := range got {
				for _, t := range s.Tags {
					if t.Key == "posixtrace.lost" {
						var k int64
						fmt.Sscan(fmt.Sprint(t.Value), &k)
						n += k
					}
				}
			}
			if n != lost {
				f.add("%s: %d lost events, not %d", log, n, lost)
			}
			continue // what the log lacks has no story
		}
		if err := compareStory(&f, log, got, records); err != nil {
			return err
		}
	}
	if again == 0 {
		f.add("no span was sent again")
	}
	fmt.Printf("%d logs of %d hosts: %d spans with %d events; %d spans were sent again, with the same ids\n", len(list), len(hosts), total, events, again)
	return f.err()
}

// lines compares what ptrace-export has written with the story of each log.
func lines(dir string) error {
	list, err := logs(dir)
	if err != nil {
		return err
	}
	var f faults
	for _, log := range list {
		written, records, err := readOTLP(log + ".otlp.jsonl")
		if err != nil {
			return err
		}
		lost, err := lostOf(log + ".lost")
		if err != nil {
			return err
		}
		got := make([]*jaegerSpan, len(written))
		for i, s := range written {
			got[i] = s.jaeger()
		}
		if lost == 0 {
			if err := compareStory(&f, log, got, records); err != nil {
				return err
			}
		}
	}
	return f.err()
}

// attribute returns an attribute of the resource of a span.
func (s *jaegerSpan) attribute(key string) string {
	if key == "service.name" {
		return s.process.ServiceName
	}
	for _, t := range s.process.Tags {
		if t.Key == key {
			return fmt.Sprint(t.Value)
		}
	}
	return ""
}

// compareStory compares the spans that Jaeger has, and the events in them and beside them, with what
// the log tells.
func compareStory(f *faults, log string, got []*jaegerSpan, records []*record) error {
	var lines []*dumped
	if err := readLines(log+".jsonl", func(d *dumped) error { lines = append(lines, d); return nil }); err != nil {
		return err
	}
	nodes, rest, err := story(lines)
	if err != nil {
		f.add("%s: %v", log, err)
		return nil
	}
	var want, have []string
	for _, n := range nodes {
		want = append(want, n.text())
		if n.id != "" && !slices.ContainsFunc(got, func(s *jaegerSpan) bool { return s.SpanID == n.id && s.TraceID == n.trace }) {
			f.add("%s: Jaeger lacks the span of the context %s-%s", log, n.trace, n.id)
		}
	}
	byID := map[string]*jaegerSpan{}
	for _, s := range got {
		byID[s.SpanID] = s
	}
	for _, s := range got {
		parent := "none"
		if len(s.References) > 0 {
			if p := byID[s.References[0].SpanID]; p != nil {
				parent = fmt.Sprintf("%s %d", p.OperationName, p.StartTime)
			} else {
				parent = "outside " + s.References[0].SpanID
			}
		}
		failed, message := false, ""
		for _, t := range s.Tags {
			switch t.Key {
			case "error":
				failed = t.Value == true
			case "otel.status_description":
				message = fmt.Sprint(t.Value)
			}
		}
		have = append(have, fmt.Sprintf("%s start %d duration %d failed %v %q in %s", s.OperationName, s.StartTime, s.Duration, failed, message, parent))
	}
	differ(f, log, "span", want, have)
	want, have = nil, nil
	for _, h := range rest {
		want = append(want, fmt.Sprint(h.name, " at ", h.time))
	}
	for _, s := range got {
		for _, l := range s.Logs {
			for _, t := range l.Fields {
				if t.Key == "event" {
					have = append(have, fmt.Sprint(t.Value, " at ", l.Timestamp))
				}
			}
		}
	}
	for _, r := range records {
		name := "unnamed"
		if v := get(r.Attributes, "event.name"); v != nil && v.String != nil {
			name = *v.String
		}
		have = append(have, fmt.Sprint(name, " at ", nanoseconds(r.TimeUnixNano)/1000))
	}
	differ(f, log, "event", want, have)
	return nil
}

// differ compares two multisets.
func differ(f *faults, log, what string, want, have []string) {
	count := map[string]int{}
	for _, s := range want {
		count[s]++
	}
	for _, s := range have {
		count[s]--
	}
	for s, n := range count {
		switch {
		case n > 0:
			f.add("%s: missing %s: %s", log, what, s)
		case n < 0:
			f.add("%s: one %s too many: %s", log, what, s)
		}
	}
}

// difference returns the lines that only one text has.
func difference(have, want string) (text string) {
	lines := func(of, other, mark string) {
		for line := range strings.Lines(of) {
			if !strings.Contains("\n"+other, "\n"+line) {
				text += mark + " " + line
			}
		}
	}
	lines(have, want, "has ")
	lines(want, have, "want")
	return text
}

// uid is the attribute by which log records that were sent again are recognised.
const uid = "log.record.uid"

func (r *record) text() string {
	body := "string " // the Collector writes an empty body
	if r.Body != nil {
		body = r.Body.typed()
	}
	// This Collector has no eventName.
	return fmt.Sprintf("%s %s trace %s span %s %s\n%s%s", r.TimeUnixNano, r.SeverityText, r.TraceID, r.SpanID, body,
		texts("attribute", tags(r.Attributes)), texts("resource", tags(r.resource)))
}

// records compares the log records that the sink has with the lines of ptrace-export.
func records(path, dir string) error {
	list, err := logs(dir)
	if err != nil {
		return err
	}
	_, received, err := readOTLP(path)
	if err != nil {
		return err
	}
	var f faults
	got, copies, again := map[string]string{}, map[string]int{}, 0
	for _, r := range received {
		id := get(r.Attributes, uid)
		if id == nil {
			f.add("a record without id: %s", r.text())
			continue
		}
		key := r.TraceID + id.typed()
		if before, ok := got[key]; ok {
			again++
			if before != r.text() {
				f.add("a record was sent twice, and differs:\n%s", difference(before, r.text()))
			}
		}
		got[key] = r.text()
		copies[key]++
	}
	total := 0
	for _, log := range list {
		_, written, err := readOTLP(log + ".otlp.jsonl")
		if err != nil {
			return err
		}
		repeated, err := sentAgain(log)
		if err != nil {
			return err
		}
		total += len(written)
		for _, r := range written {
			id := get(r.Attributes, uid)
			if id == nil {
				f.add("%s: a record without id: %s", log, r.text())
				continue
			}
			key := r.TraceID + id.typed()
			switch have, ok := got[key]; {
			case !ok:
				f.add("%s: missing: %s", log, r.text())
			case have != r.text():
				f.add("%s: a record differs:\n%s", log, difference(have, r.text()))
			}
			delete(got, key)
			if copies[key] > 1 && !repeated {
				f.add("%s: stored %d times, but sent once: %s", log, copies[key], r.text())
			}
		}
	}
	for _, text := range got {
		f.add("not in a log, or twice in one: %s", text)
	}
	if again == 0 {
		f.add("no log record was sent again")
	}
	fmt.Printf("%d log records; %d were sent again, with the same ids\n", total, again)
	return f.err()
}
