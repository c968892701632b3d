package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Bounds of a refusal's body, in bytes, and of the printed part of it, in characters.
const (
	maxRefusal = 64 << 10
	maxReason  = 1 << 10
)

// endpointPath is the path of an edge's MCP endpoint, unless a proxy changes it.
const endpointPath = "/mcp"

// refusal is a server's refusal of a request.
type refusal struct {
	status int
	// reason is the server's explanation. scopes are the scopes that the server requires. Either may
	// be empty.
	reason, scopes string
	// retryAfter is the retry time, in seconds or as a date (RFC 9110, section 10.2.3). Empty means that
	// the response has none.
	retryAfter string
	// wantsTLS is true if the server speaks TLS and the request did not.
	wantsTLS bool
	// noEndpoint is true if no MCP endpoint is at the path.
	noEndpoint bool
	// isREST is true if the body is an error of a REST API, as the admin address sends it.
	isREST bool
	// resuming is true if the request was to resume a stream. The call of the stream was not
	// refused.
	resuming bool
}

// refusalOf returns the refusal in a response, or nil if the response is not a refusal. The body
// can still be read afterwards.
func refusalOf(resp *http.Response) *refusal {
	r := &refusal{status: resp.StatusCode}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		_, _, r.isREST = peek(resp)
		challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
		if err != nil {
			break
		}
		for _, c := range challenges {
			if r.reason == "" {
				r.reason = printable(c.Params["error_description"])
			}
			if r.scopes == "" {
				r.scopes = printable(c.Params["scope"])
			}
		}
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		head, message, _ := peek(resp)
		r.reason = message
		r.retryAfter = printable(resp.Header.Get("Retry-After"))
		r.wantsTLS = resp.Request.URL.Scheme == "http" && bytes.Contains(head, []byte("HTTP request")) && bytes.Contains(head, []byte("HTTPS"))
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		_, r.reason, r.isREST = peek(resp)
		r.noEndpoint = r.reason == ""
	default:
		return nil
	}
	return r
}

// peek reads the beginning of a body, which can still be read afterwards. message is the message of
// the error in the body, of JSON-RPC or, if rest is true, of a REST API. It is empty if the body
// has none.
func peek(resp *http.Response) (head []byte, message string, rest bool) {
	head, _ = io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	var failure struct {
		Error   struct{ Message string }
		Code    int
		Message string
	}
	if json.Unmarshal(head, &failure) != nil {
		return head, "", false
	}
	rest = failure.Error.Message == "" && failure.Code != 0 && failure.Message != ""
	return head, printable(cmp.Or(failure.Error.Message, failure.Message)), rest
}

// printable returns the part of a server's text that is safe to print in a terminal.
func printable(s string) string {
	shown := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s))
	return string(shown[:min(len(shown), maxReason)])
}

// noEndpoint is a part of the error of an edge at a path without an endpoint, or of a set that the
// caller may not use.
const noEndpoint = "no MCP endpoint"

// setHint returns advice about the paths of sets, after a refusal at a path.
func setHint(path string) string {
	if name, below := strings.CutPrefix(path, endpointPath+"/"); below && name != "" {
		return fmt.Sprintf("an edge has no set %q, or none for this caller: a set is at %s/NAME, and what root says at %s", strings.TrimSuffix(name, "/"), endpointPath, endpointPath)
	}
	return fmt.Sprintf("an edge with root: off serves sets alone, each at %s/NAME", endpointPath)
}

// explain adds the reason and advice to the error of a refused request to a path. credentials is
// true if the request had credentials.
func (r *refusal) explain(err error, path string, credentials bool) error {
	var said []string
	switch {
	case r.wantsTLS:
		said = append(said, "the server speaks TLS: write https:// for http://")
	case r.noEndpoint && path != endpointPath:
		said = append(said, fmt.Sprintf("no MCP server is at the path %q: mcpedge is at %s", cmp.Or(path, "/"), endpointPath))
	case r.status == http.StatusUnauthorized && !credentials:
		said = append(said, "the server wants credentials: give --token-file FILE, or --header 'Authorization: Bearer TOKEN'")
	case r.reason != "" && !strings.Contains(err.Error(), r.reason):
		said = append(said, "the server says: "+r.reason)
	case r.status == http.StatusUnauthorized:
		said = append(said, "the server wants other credentials")
	}
	if r.status == http.StatusNotFound && strings.Contains(r.reason, noEndpoint) {
		said = append(said, setHint(path))
	}
	if r.isREST && !strings.Contains(r.reason, "admin address") {
		said = append(said, "if this is the admin address of an edge, MCP is at the address of --listen")
	}
	if r.scopes != "" {
		said = append(said, "it wants a token with the scopes "+r.scopes)
	}
	if r.retryAfter != "" && !strings.Contains(r.reason, "try again") {
		when := "at " + r.retryAfter
		if _, err := strconv.Atoi(r.retryAfter); err == nil {
			when = "in " + r.retryAfter + " s"
		}
		said = append(said, "try again "+when)
	}
	if len(said) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.Join(said, "; "))
}
