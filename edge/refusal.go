package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The bounds of what is read of a refused request, in bytes, and of what is printed of it, in characters.
const (
	maxRefusal = 64 << 10
	maxReason  = 1 << 10
)

// refusal is how a server refused a request.
type refusal struct {
	status int
	// reason is why, in the server's words, and scopes are those that it wants; either may be empty.
	reason, scopes string
	// again is when to try again: seconds, or a date (RFC 9110, section 10.2.3); empty: not said.
	again string
}

// refusalOf reads a response; nil: it refuses nothing. What was read of its body is put back.
func refusalOf(resp *http.Response) *refusal {
	r := &refusal{status: resp.StatusCode}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
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
		head, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
		var failure struct{ Error struct{ Message string } }
		if json.Unmarshal(head, &failure) == nil {
			r.reason = printable(failure.Error.Message)
		}
		r.again = printable(resp.Header.Get("Retry-After"))
	default:
		return nil
	}
	return r
}

// printable is what a terminal may be shown of a server's words.
func printable(s string) string {
	shown := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s))
	return string(shown[:min(len(shown), maxReason)])
}

// explain completes an error that came of the refusal. credentials: the request had some.
func (r *refusal) explain(err error, credentials bool) error {
	var said []string
	switch {
	case r.status == http.StatusUnauthorized && !credentials:
		said = append(said, "the server wants credentials: give --token-file FILE, or --header 'Authorization: Bearer TOKEN'")
	case r.reason != "" && !strings.Contains(err.Error(), r.reason):
		said = append(said, "the server says: "+r.reason)
	case r.status == http.StatusUnauthorized:
		said = append(said, "the server wants other credentials")
	}
	if r.scopes != "" {
		said = append(said, "it wants a token with the scopes "+r.scopes)
	}
	if r.again != "" {
		when := "at " + r.again
		if _, err := strconv.Atoi(r.again); err == nil {
			when = "in " + r.again + " s"
		}
		said = append(said, "try again "+when)
	}
	if len(said) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.Join(said, "; "))
}
