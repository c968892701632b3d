package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// newClient makes the client for issuers. It follows few redirects, none from https to http, and
// keeps few connections.
func newClient(over http.RoundTripper) *http.Client {
	if over == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.IdleConnTimeout = 2, time.Minute
		over = t
	}
	return &http.Client{Transport: over, Timeout: fetchTimeout, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) > 3:
			return errors.New("it redirects more than three times")
		case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
			return errors.New("it redirects from https to http")
		}
		return nil
	}}
}

// get fetches a JSON document of at most maxDocument bytes.
func get(ctx context.Context, c *http.Client, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	return do(c, r, maxDocument)
}

// statusError is a response status other than 200.
type statusError struct {
	url  string
	code int
}

// Error implements error.
func (e *statusError) Error() string { return e.url + " answers " + statusText(e.code) }

// statusText returns a status with its standard reason phrase. The server's own phrase may quote
// secrets of the request.
func statusText(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// conceal replaces an error whose text contains a token or the credentials of the request r: errors
// of HTTP clients quote malformed responses, which may quote the request.
func conceal(err error, r *http.Request, token string) error {
	if err == nil {
		return nil
	}
	secrets := []string{token, url.QueryEscape(token)}
	if _, password, ok := r.BasicAuth(); ok {
		plain, _ := url.QueryUnescape(password) // ask and answer escape it
		secrets = append(secrets, strings.TrimPrefix(r.Header.Get("Authorization"), "Basic "), password, plain)
	}
	text := err.Error()
	before := text
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[removed]")
		}
	}
	if text == before {
		return err
	}
	return errors.New(text)
}

// tooLargeError means that a response exceeds the bound.
type tooLargeError struct {
	from string
	most int
}

// Error implements error.
func (e *tooLargeError) Error() string {
	return fmt.Sprintf("%s answers more than %d bytes", e.from, e.most)
}

// do sends a request and reads the body of its response. The status must be 200. A body of more
// than most bytes is a *tooLargeError.
func do(c *http.Client, r *http.Request, most int) ([]byte, error) {
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, &statusError{r.URL.Redacted(), resp.StatusCode}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.URL.Redacted(), err)
	case len(body) > most:
		return nil, &tooLargeError{r.URL.Redacted(), most}
	}
	return body, nil
}
