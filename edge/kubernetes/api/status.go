package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// access is the permission that a request needs.
type access struct{ verb, group, resource, namespace string }

// status is how the API server describes a failure: a Status of meta/v1.
type status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// maxStatus bounds the body of a response that is read for its Status, in bytes.
const maxStatus = 64 << 10

// StatusError means that the API server refused a request, or ended a watch with an error.
type StatusError struct {
	// Code is the HTTP status.
	Code int
	text string
}

// Error implements error.
func (e *StatusError) Error() string { return e.text }

// refusal returns the error of a response that is not 200.
func refusal(what access, resp *http.Response) error {
	var s status
	if body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus)); err == nil {
		_ = json.Unmarshal(body, &s) // a proxy's body is not a Status; the code then suffices
	}
	s.Code = resp.StatusCode
	return s.of(what)
}

// of returns the error of a status, with what to do about it.
func (s status) of(what access) error {
	text := fmt.Sprintf("%s %s in namespace %s: the API server answers %d %s", what.verb, what.resource, what.namespace, s.Code, http.StatusText(s.Code))
	switch s.Code {
	case http.StatusUnauthorized:
		text += ": it does not accept the token of the service account"
	case http.StatusForbidden:
		text += fmt.Sprintf(": give the service account a Role in %s with the verb %s of the resource %s in the API group %q", what.namespace, what.verb, what.resource, what.group)
	}
	if s.Message != "" {
		text += fmt.Sprintf(": %.500s", s.Message)
	}
	return &StatusError{Code: s.Code, text: text}
}

// isGone reports whether an error means that a version of the list is too old to continue from.
func isGone(err error) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Code == http.StatusGone
}
