package client

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
)

// headed adds headers to requests to one server, which its scheme, host and port identify. Requests
// to another server, such as after a redirect from https to http, do not get them.
type headed struct {
	header http.Header
	server *url.URL
	base   *http.Transport
	// refused is the last refusal in the current operation. nil means that there was none.
	refused atomic.Pointer[refusal]
	// answers is true if the server has responded over the scheme of its URL.
	answers atomic.Bool
	// sessions are the session ids of the server, which are removed from errors.
	sessions sessionIDs
}

// RoundTrip implements http.RoundTripper.
func (h *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == h.server.Scheme && r.URL.Host == h.server.Host {
		r = r.Clone(r.Context())
		for name, values := range h.header {
			r.Header[name] = values
		}
	}
	resp, err := h.base.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	h.answers.Store(true)
	h.sessions.add(resp.Header.Get("Mcp-Session-Id"))
	if resp, err = resumed(r, resp); err != nil {
		return nil, err
	}
	if refused := refusalOf(resp); refused != nil {
		refused.resuming = isResuming(r)
		h.refused.Store(refused)
	}
	return resp, nil
}

// explain adds the reason and the remedy to the error of a refusal. It also explains that the
// server uses another scheme, or that its certificate is not trusted.
func (h *headed) explain(err error) error {
	if refused := h.refused.Load(); refused != nil {
		return refused.explain(err, h.server.Path, h.header.Get("Authorization") != "")
	}
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: give --ca FILE with the certificate of its CA", err)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"): // net/http has no type for this error
		return fmt.Errorf("%w: the server does not speak TLS there: write http:// for https://", err)
	case h.server.Scheme == "http" && !h.answers.Load() && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return fmt.Errorf("%w: the server closed the connection without an answer: if it speaks TLS, write https:// for http://", err)
	}
	return err
}
