package send

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The environment is that of all exporters of OpenTelemetry. Each setting has a variable for one signal
// and one for all. As OpenTelemetry's specifications of the environment and of the OTLP exporter ask, an
// empty variable is an unset one, and so is one with a value that is malformed or not known, after a
// warning. A warning has no value that may be a secret.

const prefix = "OTEL_EXPORTER_OTLP_"

// HasEndpoint reports whether the environment has an endpoint.
func HasEndpoint(getenv func(string) string) bool {
	for _, name := range []string{"ENDPOINT", "TRACES_ENDPOINT", "LOGS_ENDPOINT", "METRICS_ENDPOINT"} {
		if getenv(prefix+name) != "" {
			return true
		}
	}
	return false
}

// environment reads the variables for one kind of batches.
type environment struct {
	getenv func(string) string
	kind   kind
	warn   func(text string)
}

// names returns the variables of a setting: that for the signal, then that for all.
func (v *environment) names(setting string) [2]string {
	return [2]string{prefix + strings.ToUpper(kindNames[v.kind]) + "_" + setting, prefix + setting}
}

// lookup returns the first variable of a setting that is set.
func (v *environment) lookup(setting string) (value, name string) {
	for _, name = range v.names(setting) {
		if value = v.getenv(name); value != "" {
			break
		}
	}
	return value, name
}

// read calls take for each variable of a setting that is set, until it takes one. fault is what is wrong
// with the value. If show is set, the warning has the value.
func (v *environment) read(setting string, show bool, take func(value, name string) (taken bool, fault string)) {
	for _, name := range v.names(setting) {
		value := v.getenv(name)
		if value == "" {
			continue
		}
		taken, fault := take(value, name)
		if fault != "" {
			if show {
				name += "=" + value
			}
			v.warn("ignored: " + name + ": " + fault)
		}
		if taken {
			return
		}
	}
}

// endpoint sets the address: the variable of a signal is the whole address, that for all is its base.
func (v *environment) endpoint(e *end) {
	e.unset = true
	v.read("ENDPOINT", false, func(value, name string) (bool, string) {
		e.unset = false
		u := address(value)
		if u == nil {
			return false, noAddress[len("is "):]
		}
		if name == prefix+"ENDPOINT" {
			u = u.JoinPath("v1", kindNames[v.kind])
		}
		e.set(value, u)
		return true, ""
	})
	if e.url == "" {
		// The default of the specification, port 4318 of this machine, may be the port of another user.
		e.fault = errors.New("no endpoint for " + kindNames[v.kind] + " (" + v.names("ENDPOINT")[0] + ")")
	}
}

// protocol reports a protocol that is not HTTP. A server of http/protobuf takes JSON, too.
func (v *environment) protocol() {
	v.read("PROTOCOL", true, func(value, _ string) (bool, string) {
		switch strings.ToLower(value) {
		case "http/json", "http/protobuf":
			return true, ""
		case "grpc":
			return false, "only HTTP is possible, to another port as a rule"
		}
		return false, "no known protocol"
	})
}

func (v *environment) gzip() (on bool) {
	v.read("COMPRESSION", true, func(value, _ string) (bool, string) {
		switch strings.ToLower(value) {
		case "gzip":
			on = true
		case "none":
		default:
			return false, "only gzip and none are possible"
		}
		return true, ""
	})
	return on
}

// timeout returns the most time that a request takes, 0 for no limit.
func (v *environment) timeout() time.Duration {
	d := 10 * time.Second
	v.read("TIMEOUT", true, func(value, _ string) (bool, string) {
		ms, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return false, "no number of milliseconds"
		}
		d = time.Duration(ms) * time.Millisecond
		return true, ""
	})
	return d
}

// headers returns those of the environment: key=value,key2=value2, with values in percent-encoding.
func (v *environment) headers() http.Header {
	h := http.Header{}
	v.read("HEADERS", false, func(list, _ string) (bool, string) {
		fault := ""
		for i, pair := range strings.Split(list, ",") {
			if pair = strings.TrimSpace(pair); pair == "" {
				continue
			}
			key, value, ok := strings.Cut(pair, "=")
			value, err := url.PathUnescape(strings.TrimSpace(value))
			if key = strings.TrimSpace(key); !ok || err != nil || !isToken(key) || !isFieldValue(value) {
				fault = "header " + strconv.Itoa(i+1) + " is malformed"
				continue
			}
			h.Set(key, value)
		}
		return len(h) > 0, fault
	})
	return h
}

// isToken reports whether a name can be one of a header. See RFC 9110, Section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// isFieldValue reports whether a value can be one of a header. See RFC 9110, Section 5.5.
func isFieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
