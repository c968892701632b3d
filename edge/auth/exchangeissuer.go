package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// exchangeIssuer exchanges tokens at one issuer.
type exchangeIssuer struct {
	issuer *issuer
	o      Exchange
	// client follows redirects, for metadata; alone follows none.
	client, alone *http.Client
	// turns limits the exchanges by the caller, so that an issuer that does not answer delays no
	// other issuer's callers, and one caller's tokens no other caller.
	turns *turns[string]

	mu sync.Mutex
	// found is the token endpoint that was discovered last, at is when; again is when discovery may
	// run next.
	found       string
	at, retryAt time.Time
}

func newExchangeIssuer(i *issuer, o Exchange, c *http.Client) *exchangeIssuer {
	alone := *c
	// On a redirect 307 or 308, the client would send the token and the edge's credentials to
	// another server.
	alone.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &exchangeIssuer{issuer: i, o: o, client: c, alone: &alone, turns: newTurns[string]()}
}

// where returns the URL of the token endpoint. If the metadata cannot be read, it is the one found
// before.
func (i *exchangeIssuer) where(ctx context.Context) (string, error) {
	if i.o.URL != "" {
		return i.o.URL, nil
	}
	i.mu.Lock()
	found, fresh := i.found, time.Since(i.at) < refreshKeys || time.Now().Before(i.retryAt)
	i.mu.Unlock()
	if found != "" && fresh {
		return found, nil
	}
	url, err := discoverTokens(ctx, i.client, i.issuer.o.URL)
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case err == nil:
		i.found, i.at = url, time.Now()
	case i.found == "":
		return "", err
	default:
		i.retryAt = time.Now().Add(retryMax)
	}
	return i.found, nil
}

// exchangeAnswer is the used part of a successful response (RFC 8693, section 2.2.1).
type exchangeAnswer struct {
	Token string // access_token
	Type  string // token_type
	// Issued is the kind of the token. Empty means that the issuer omits it, although it is
	// required.
	Issued    string  // issued_token_type
	ExpiresIn seconds // expires_in
}

// decode reads an answer.
func (a *exchangeAnswer) decode(raw []byte) error {
	return decodeMembers(raw, map[string]any{"access_token": &a.Token, "token_type": &a.Type, "issued_token_type": &a.Issued, "expires_in": &a.ExpiresIn})
}

// seconds is a JSON number, or a string of digits, which some servers send.
type seconds float64

// UnmarshalJSON implements json.Unmarshaler.
func (s *seconds) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil || text == "" {
		return json.Unmarshal(raw, (*float64)(s))
	}
	n, err := strconv.ParseUint(text, 10, 63)
	*s = seconds(n)
	return err
}

// exchangeError means that an issuer refuses a token.
type exchangeError struct {
	// code is that of RFC 6749, section 5.2. Empty means that the response has none, or no usable
	// token.
	code string
	text string
}

// Error implements error. It contains nothing from the issuer but the code.
func (e *exchangeError) Error() string { return e.text }

// ask asks the issuer to exchange a token. Any error but an *exchangeError means that the issuer
// cannot be reached now.
func (i *exchangeIssuer) ask(ctx context.Context, form url.Values, token mcp.Token) (a exchangeAnswer, _ error) {
	secret, err := i.o.ReadSecret()
	if err != nil {
		return a, err
	}
	where, err := i.where(ctx)
	if err != nil {
		return a, err
	}
	form = cloneForm(form)
	form.Set("subject_token", token.Reveal())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, where, strings.NewReader(form.Encode()))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.SetBasicAuth(url.QueryEscape(i.o.Client), url.QueryEscape(strings.TrimSpace(string(secret))))
	resp, err := i.alone.Do(r)
	if err != nil {
		return a, conceal(err, r, token.Reveal())
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return a, conceal(fmt.Errorf("%s: %w", r.URL.Redacted(), err), r, token.Reveal())
	case len(raw) > maxDocument:
		return a, &exchangeError{text: fmt.Sprintf("%s answers more than %d bytes", r.URL.Redacted(), maxDocument)}
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		return a, &statusError{r.URL.Redacted(), resp.StatusCode}
	case resp.StatusCode != http.StatusOK:
		code := errorCode(raw)
		if code == token.Reveal() {
			code = ""
		}
		return a, &exchangeError{code, strings.TrimSpace(fmt.Sprintf("%s answers %s %s", r.URL.Redacted(), statusText(resp.StatusCode), code))}
	}
	if err := a.decode(raw); err != nil || !uniqueMembers(raw) {
		return a, &exchangeError{text: r.URL.Redacted() + " returned something other than a JSON object, or one with duplicate members"}
	}
	return a, a.check(r.URL.Redacted(), token)
}

// check returns why an answer cannot be used, or nil.
func (a *exchangeAnswer) check(where string, token mcp.Token) error {
	switch {
	case a.Token == "" || len(a.Token) > maxToken || checkToken(a.Token) != nil:
		return &exchangeError{text: where + " returned no token that can be sent to a backend"}
	case !strings.EqualFold(a.Type, schemeBearer):
		return &exchangeError{text: where + " returned a token that is not a bearer token (token_type)"}
	case a.Issued != "" && a.Issued != typeAccess && a.Issued != typeJWT:
		return &exchangeError{text: where + " returned a token that is not an access token (issued_token_type)"}
	case a.Token == token.Reveal():
		return &exchangeError{text: where + " returned the caller's own token, which is never sent to a backend"}
	}
	return nil
}

// errorCode returns the code of an error response; empty if it has none.
func errorCode(raw []byte) string {
	var code string
	if decodeMembers(raw, map[string]any{"error": &code}) != nil || len(code) > 64 ||
		strings.ContainsFunc(code, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		return ""
	}
	return code
}

func cloneForm(form url.Values) url.Values {
	out := make(url.Values, len(form)+1)
	for name, values := range form {
		out[name] = slices.Clone(values)
	}
	return out
}
