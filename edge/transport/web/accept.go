package web

import (
	"net/http"
	"strconv"
	"strings"
)

// Accepted is which types of responses a client takes.
type Accepted struct{ JSON, Events bool }

// AcceptedBy reads the Accept header (RFC 9110, section 12.5.1): the most specific range that matches a type decides, and a
// weight of 0 refuses it. A client without the header takes any type. Ranges that are malformed match nothing.
func AcceptedBy(h http.Header) Accepted {
	values := h.Values("Accept")
	if len(values) == 0 || len(values) == 1 && strings.TrimSpace(values[0]) == "" {
		return Accepted{JSON: true, Events: true}
	}
	if len(values) == 1 && values[0] == usual {
		return Accepted{JSON: true, Events: true}
	}
	return Accepted{JSON: accepts(values, TypeJSON), Events: accepts(values, TypeEvents)}
}

// usual is what the specification has clients send.
const usual = TypeJSON + ", " + TypeEvents

// Accepts says whether a client takes a response of one of the types. False: the request was answered with 406.
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

// accepts says whether the values of Accept have a type.
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

// weight is the q of a range's parameters; 1 where there is none, or none that can be read.
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
