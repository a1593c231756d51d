package send

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// post sends a request. After an error that may pass, wait is 0 or the pause that the server asks for;
// it is negative if another try is useless.
func (c *Config) post(ctx context.Context, k kind, body []byte) (a answer, wait time.Duration, err error) {
	e := &c.ends[k]
	if e.fault != nil {
		return a, -1, e.fault
	}
	if e.timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, e.timeout)
		defer cancel()
	}
	var zipped bytes.Buffer
	if e.gzip {
		z, _ := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
		z.Write(body)
		z.Close()
		body = zipped.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return a, -1, fmt.Errorf("%s: %w", e.shown, err)
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
		return a, wait, fmt.Errorf("%s: %s", e.shown, reason(err))
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	contentType := resp.Header.Get("Content-Type")
	text := e.shown + ": " + resp.Status
	if resp.StatusCode/100 == 2 {
		if err != nil { // whether the server took the batch is not known: the same ids may come twice
			return a, 0, fmt.Errorf("%s: %s", text, reason(err))
		}
		if len(said) <= maxAnswer {
			a, err = readAnswer(contentType, said)
		} else {
			err = errAnswer
		}
		if err != nil {
			return a, -1, fmt.Errorf("%s: %w (%s)", text, err, excerpt(contentType, said))
		}
		return a, 0, nil
	}
	if m := message(said); m != "" {
		text += ": " + m
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		if k == metrics { // many stores of traces have no place for them: they would fill a spool
			return a, -1, &refusal{text}
		}
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return a, retryAfter(resp.Header.Get("Retry-After")), errors.New(text)
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusUnsupportedMediaType, http.StatusMisdirectedRequest:
		// The server says this of each batch until the address or the credentials change.
		return a, -1, errors.New(text)
	}
	if resp.StatusCode < 400 || isPage(contentType) && resp.StatusCode != http.StatusRequestEntityTooLarge {
		// A page is not what a collector says of a batch. That a batch is too large, a proxy knows as well.
		return a, -1, errors.New(text)
	}
	// OTLP, "Retryable Response Codes": a request with another of these answers must not be tried again.
	return a, -1, &refusal{text}
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
	var n net.Error
	switch {
	case errors.As(err, &n) && n.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the answer is cut short"
	case errors.As(err, &u):
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
