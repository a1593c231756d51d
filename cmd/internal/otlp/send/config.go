package send

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// kind is a kind of batches: a signal of OpenTelemetry.
type kind int

const (
	traces kind = iota
	logs
	kinds
)

var kindNames = [kinds]string{"traces", "logs"}

// Config has the endpoints.
type Config struct{ ends [kinds]end }

// end is where one kind of batches goes.
type end struct {
	url     string
	shown   string // without a password
	headers http.Header
	gzip    bool
	timeout time.Duration // of a request
	client  *http.Client
}

const prefix = "OTEL_EXPORTER_OTLP_"

// HasEndpoint reports whether the environment has an endpoint.
func HasEndpoint(getenv func(string) string) bool {
	return getenv(prefix+"ENDPOINT") != "" ||
		getenv(prefix+"TRACES_ENDPOINT") != "" && getenv(prefix+"LOGS_ENDPOINT") != ""
}

// NewConfig returns the configuration of the environment, as all exporters of OpenTelemetry read it.
// endpoint, unless it is "", replaces those of the environment.
func NewConfig(getenv func(string) string, endpoint string) (*Config, error) {
	c := &Config{}
	for k := range kinds {
		get := func(name string) (value, from string) {
			own := prefix + strings.ToUpper(kindNames[k]) + "_" + name
			if v := getenv(own); v != "" {
				return v, own
			}
			return getenv(prefix + name), prefix + name
		}
		if p, name := get("PROTOCOL"); p == "grpc" && endpoint == "" {
			return nil, fmt.Errorf("%s=grpc: only HTTP is possible, to another port as a rule", name)
		}
		if err := c.ends[k].configure(k, get, endpoint); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (e *end) configure(k kind, get func(string) (value, from string), endpoint string) error {
	path := "/v1/" + kindNames[k]
	base, from := endpoint, "--endpoint"
	if base == "" {
		base, from = get("ENDPOINT")
		if from != prefix+"ENDPOINT" {
			path = "" // the variable of a signal is its whole address
		}
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s is no address http://HOST:PORT", from)
	}
	if u.User != nil && endpoint != "" {
		return errors.New("--endpoint has a password, which others can see; use OTEL_EXPORTER_OTLP_HEADERS")
	}
	if path != "" {
		u.Path = strings.TrimSuffix(u.Path, "/") + path
	}
	e.url, e.shown = u.String(), u.Redacted()
	if e.headers, err = headers(get); err != nil {
		return err
	}
	switch v, name := get("COMPRESSION"); v {
	case "", "none":
	case "gzip":
		e.gzip = true
	default:
		return fmt.Errorf("%s: only gzip and none are possible", name)
	}
	e.timeout = 10 * time.Second
	if v, name := get("TIMEOUT"); v != "" {
		ms, err := strconv.ParseUint(v, 10, 31)
		if err != nil || ms == 0 {
			return fmt.Errorf("%s is no number of milliseconds", name)
		}
		e.timeout = time.Duration(ms) * time.Millisecond
	}
	return e.connect(get)
}

// headers returns those of the environment: key=value,key2=value2, with values in percent-encoding.
// A message has no value: it may be a secret.
func headers(get func(string) (value, from string)) (http.Header, error) {
	h := http.Header{}
	list, name := get("HEADERS")
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil || strings.ContainsAny(key+value, "\r\n\x00") {
			return nil, fmt.Errorf("%s is malformed", name)
		}
		h.Set(key, value)
	}
	return h, nil
}

// connect makes the client, with the certificates of the environment.
func (e *end) connect(get func(string) (value, from string)) error {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if file, name := get("CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s: %s has no certificate", name, file)
		}
	}
	cert, name := get("CLIENT_CERTIFICATE")
	key, keyName := get("CLIENT_KEY")
	switch {
	case cert != "" && key != "":
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, keyName, err)
		}
		conf.Certificates = []tls.Certificate{pair}
	case cert != "" || key != "":
		return fmt.Errorf("%s and %s belong together", name, keyName)
	}
	e.client = &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: conf, ForceAttemptHTTP2: true, DisableCompression: true},
		// Headers may be secrets for this server alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}
