package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// newClient makes the client that asks issuers. It follows few redirects, none from https to http, and keeps few
// connections.
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
	return do(c, r)
}

// statusError is an answer other than 200.
type statusError struct {
	url    string
	code   int
	status string
}

// Error implements error.
func (e *statusError) Error() string { return e.url + " answers " + e.status }

// do sends a request and reads the body of its response, which must be 200.
func do(c *http.Client, r *http.Request) ([]byte, error) {
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, &statusError{r.URL.Redacted(), resp.StatusCode, resp.Status}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.URL.Redacted(), err)
	case len(body) > maxDocument:
		return nil, fmt.Errorf("%s answers more than %d bytes", r.URL.Redacted(), maxDocument)
	}
	return body, nil
}
