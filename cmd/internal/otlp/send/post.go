package send

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// post sends a request. After an error that may pass, wait is 0 or the pause that the server asks for;
// it is negative if another try is useless. note is what the server says about a part that it has not
// taken.
func (c *Config) post(ctx context.Context, k kind, body []byte) (note string, wait time.Duration, err error) {
	e := &c.ends[k]
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	var zipped bytes.Buffer
	if e.gzip {
		z, _ := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
		z.Write(body)
		z.Close()
		body = zipped.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return "", -1, fmt.Errorf("%s: %w", e.shown, err)
	}
	req.Header = e.headers.Clone()
	req.Header.Set("Content-Type", "application/json")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "ptrace-export")
	}
	if e.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := e.client.Do(req)
	if err != nil {
		if distrusts(err) {
			wait = -1
		}
		return "", wait, fmt.Errorf("%s: %s", e.shown, reason(err))
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 == 2 {
		return e.partial(answer), 0, nil
	}
	text := e.shown + ": " + resp.Status
	if m := message(answer); m != "" {
		text += ": " + m
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return "", retryAfter(resp.Header.Get("Retry-After")), errors.New(text)
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusUnsupportedMediaType, http.StatusMisdirectedRequest:
		// The server says this of each batch until the address or the credentials change.
		return "", -1, errors.New(text)
	}
	if resp.StatusCode >= 400 {
		// OTLP, "Retryable Response Codes": a request with another of these answers must not be tried again.
		return "", -1, &refusal{text}
	}
	return "", -1, errors.New(text)
}

// distrusts reports whether one side does not accept the certificate of the other.
func distrusts(err error) bool {
	var verify *tls.CertificateVerificationError
	var op *net.OpError
	return errors.As(err, &verify) || errors.As(err, &op) && op.Op == "remote error"
}

// reason returns why a request failed, without its address.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() {
			return "no answer in time"
		}
		err = u.Err
	}
	return err.Error()
}

// retryAfter returns the pause that a server asks for: seconds, or a date.
func retryAfter(value string) time.Duration {
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// partial returns what an answer says about a part that the server has not taken.
func (e *end) partial(answer []byte) string {
	var a struct {
		Partial struct {
			Spans   json.RawMessage `json:"rejectedSpans"`
			Records json.RawMessage `json:"rejectedLogRecords"`
			Message string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return ""
	}
	for _, part := range []struct {
		n    json.RawMessage
		what string
	}{{a.Partial.Spans, "spans"}, {a.Partial.Records, "log records"}} {
		if n := strings.Trim(string(part.n), `"`); n != "" && n != "0" && n != "null" {
			return strings.TrimSuffix(fmt.Sprintf("%s: %s rejected: %s", e.shown, n+" "+part.what, short(a.Partial.Message)), ": ")
		}
	}
	if a.Partial.Message != "" {
		return e.shown + ": " + short(a.Partial.Message)
	}
	return ""
}

// message returns the reason in an answer that is a google.rpc.Status.
func message(answer []byte) string {
	var a struct{ Message string }
	if json.Unmarshal(answer, &a) != nil {
		return ""
	}
	return short(a.Message)
}

func short(s string) string { return s[:min(len(s), 200)] }
