package send

import (
	"strings"
	"testing"
)

func TestReadAnswer(t *testing.T) {
	const proto = "application/x-protobuf"
	for _, c := range []struct {
		kind, body string
		want       answer
		fault      bool
	}{
		{"application/json", "", answer{}, false},
		{"", " \n", answer{}, false},
		{"application/json", "{}", answer{}, false},
		{"application/json; charset=utf-8", `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"full"}}`, answer{3, "full"}, false},
		{"text/plain", `{"partial_success":{"rejected_log_records":4}}`, answer{4, ""}, false},
		{"application/json", `{"partialSuccess":null}`, answer{}, false},
		{"application/json", `{"error":"no"}`, answer{}, true},
		{"application/json", `{"partialSuccess":{"rejectedSpans":"x"}}`, answer{}, true},
		{"application/json", `[]`, answer{}, true},
		{"text/html", "<html>", answer{}, true},
		{proto, "", answer{}, false},
		{proto, "\x0a\x06\x08\x05\x12\x02no", answer{5, "no"}, false},
		{proto, "\x0a\x06\x08\x05\x12\x03no", answer{}, true},
		{proto, "\x08\x01", answer{}, true},
		{"application/protobuf", "\x12\x02ok", answer{}, false},
	} {
		got, err := readAnswer(c.kind, []byte(c.body))
		if (err != nil) != c.fault || err == nil && got != c.want {
			t.Errorf("%s %q: %+v, %v", c.kind, c.body, got, err)
		}
	}
}

// A variable for one signal goes before that for all, and a warning shows no secret.
func TestConfigOfEnvironment(t *testing.T) {
	vars := map[string]string{
		prefix + "ENDPOINT":        "http://host:4318/base",
		prefix + "LOGS_ENDPOINT":   "https://other/path",
		prefix + "HEADERS":         "key=a%20b, bad key=hidden ,k2=v2",
		prefix + "COMPRESSION":     "gzip",
		prefix + "TIMEOUT":         "soon",
		prefix + "TRACES_PROTOCOL": "grpc",
	}
	var warned []string
	c, err := NewConfig(func(name string) string { return vars[name] }, "", func(text string) { warned = append(warned, text) })
	if err != nil || c.ends[traces].url != "http://host:4318/base/v1/traces" || c.ends[logs].url != "https://other/path" {
		t.Fatalf("%v, %q, %q", err, c.ends[traces].url, c.ends[logs].url)
	}
	e := &c.ends[logs]
	if e.headers.Get("key") != "a b" || e.headers.Get("k2") != "v2" || len(e.headers) != 2 || !e.gzip || e.timeout.Seconds() != 10 || c.servers() != 2 {
		t.Errorf("headers %v, gzip %v, timeout %v", e.headers, e.gzip, e.timeout)
	}
	all := strings.Join(warned, "\n")
	if len(warned) != 3 || strings.Contains(all, "hidden") || !strings.Contains(all, "header 2") || !strings.Contains(all, "TRACES_PROTOCOL=grpc") {
		t.Errorf("the warnings are\n%s", all)
	}
	for _, endpoint := range []string{"host:4318", "ftp://host", "http://", "http://user:pass@host"} {
		if _, err := NewConfig(func(string) string { return "" }, endpoint, nil); err == nil || strings.Contains(err.Error(), "pass@") {
			t.Errorf("--endpoint=%s: %v", endpoint, err)
		}
	}
}
