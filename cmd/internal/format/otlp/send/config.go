package send

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// kind is a kind of batches: a signal of OpenTelemetry.
type kind int

const (
	traces kind = iota
	logs
	metrics
	kinds
)

var kindNames = [kinds]string{"traces", "logs", "metrics"}

// Config has the endpoints.
type Config struct{ ends [kinds]end }

// end is where one kind of batches goes.
type end struct {
	fault   error // why there is no usable endpoint
	unset   bool  // the environment has none: not even the spool keeps these batches
	base    string
	url     string
	shown   string // without a password
	headers http.Header
	gzip    bool
	timeout time.Duration // of a request, 0 for no limit
	client  *http.Client
}

// NewConfig returns the configuration of the environment, as all exporters of OpenTelemetry read it.
// endpoint, unless it is "", replaces those of the environment; an error is one of endpoint. warn gets
// what is ignored. A fault of the environment is one of the batches that it concerns.
func NewConfig(getenv func(string) string, endpoint string, warn func(text string)) (*Config, error) {
	c := &Config{}
	warned := map[string]bool{}
	for k := range kinds {
		v := environment{getenv, k, func(text string) {
			if !warned[text] { // each kind reads the variables for all kinds
				warned[text] = true
				warn(text)
			}
		}}
		e := &c.ends[k]
		if endpoint == "" {
			v.protocol()
			v.endpoint(e)
		} else if err := e.given(k, endpoint); err != nil {
			return nil, err
		}
		if e.fault == nil {
			e.headers, e.gzip, e.timeout = v.headers(), v.gzip(), v.timeout()
			e.client, e.fault = v.client(strings.HasPrefix(e.url, "https:"))
		}
	}
	return c, nil
}

// given sets the address that the command line has.
func (e *end) given(k kind, endpoint string) error {
	u := address(endpoint)
	if u == nil {
		return errors.New("--endpoint " + noAddress)
	}
	if u.User != nil {
		return errors.New("--endpoint has a password, which others can see; use OTEL_EXPORTER_OTLP_HEADERS")
	}
	e.set(endpoint, u.JoinPath("v1", kindNames[k]))
	return nil
}

func (e *end) set(base string, u *url.URL) { e.base, e.url, e.shown = base, u.String(), u.Redacted() }

const noAddress = "is no address http://HOST:PORT"

// address parses an address of HTTP. It returns nil for another.
func address(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil
	}
	return u
}

// servers returns how many servers there are, as far as the addresses show that, and at least one.
func (c *Config) servers() time.Duration {
	bases := map[string]bool{}
	for _, e := range c.ends {
		if e.fault == nil {
			bases[e.base] = true
		}
	}
	return time.Duration(max(len(bases), 1))
}

// shares reports whether two kinds have the same server.
func (c *Config) shares(k, other kind) bool {
	x, y := &c.ends[k], &c.ends[other]
	return x.fault == nil && y.fault == nil && x.base == y.base
}

// client returns a client, with the certificates of the environment if it uses TLS. It returns an error
// rather than a client that trusts or proves something else than the environment asks for.
func (v *environment) client(secure bool) (*http.Client, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if file, name := v.lookup("CERTIFICATE"); secure && file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %s", name, file, cli.Reason(bare(err)))
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s has no certificate", name, file)
		}
	}
	cert, name := v.lookup("CLIENT_CERTIFICATE")
	key, keyName := v.lookup("CLIENT_KEY")
	switch {
	case !secure:
	case cert != "" && key != "":
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", name, keyName, err)
		}
		conf.Certificates = []tls.Certificate{pair}
	case cert != "" || key != "":
		return nil, fmt.Errorf("%s and %s belong together", name, keyName)
	}
	return &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: conf, ForceAttemptHTTP2: true, DisableCompression: true},
		// Headers may be secrets for this server alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}
