package web

import (
	"net/http"
	"strconv"
	"strings"
)

// Accepted are the types of responses that a client accepts.
type Accepted struct{ JSON, Events bool }

// AcceptedBy parses the Accept header (RFC 9110, section 12.5.1): the most specific range that
// matches a type decides, and a weight of 0 refuses the type. A client without the header accepts
// all types. Malformed ranges match nothing.
func AcceptedBy(h http.Header) Accepted {
	values := h.Values("Accept")
	if len(values) == 0 || len(values) == 1 && strings.TrimSpace(values[0]) == "" {
		return Accepted{JSON: true, Events: true}
	}
	if len(values) == 1 && values[0] == usualAccept {
		return Accepted{JSON: true, Events: true}
	}
	return Accepted{JSON: accepts(values, TypeJSON), Events: accepts(values, TypeEvents)}
}

// usualAccept is the value that the specification requires of clients.
const usualAccept = TypeJSON + ", " + TypeEvents

// Accepts returns which of the types a client accepts. false means that the request was answered
// with 406.
func (g *Guard) Accepts(w http.ResponseWriter, r *http.Request, types ...string) (Accepted, bool) {
	a := AcceptedBy(r.Header)
	for _, t := range types {
		if t == TypeJSON && a.JSON || t == TypeEvents && a.Events {
			return a, true
		}
	}
	g.Refuse(w, http.StatusNotAcceptable, "Accept must name "+strings.Join(types, " and "))
	return a, false
}

// accepts reports whether the values of Accept include a type.
func accepts(values []string, want string) bool {
	major, _, _ := strings.Cut(want, "/")
	specific, taken := 0, false
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			media, params, _ := strings.Cut(part, ";")
			n := 0
			switch strings.ToLower(strings.TrimSpace(media)) {
			case want:
				n = 3
			case major + "/*":
				n = 2
			case "*/*":
				n = 1
			}
			if n > 0 && n >= specific {
				specific, taken = n, weight(params) > 0 || n == specific && taken
			}
		}
	}
	return taken
}

// weight returns the q of a range's parameters; 1 if it is missing or invalid.
func weight(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			return q
		}
	}
	return 1
}
