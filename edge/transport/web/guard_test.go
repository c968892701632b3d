package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// named knows its callers by a header and refuses the others.
type named struct{}

func (named) Authenticate(r *http.Request) (mcp.Principal, *Denial) {
	p := mcp.Principal{Subject: r.Header.Get("Authorization")}
	if p.Anonymous() {
		return p, &Denial{
			Status: http.StatusUnauthorized, Message: "who are you?", Challenges: []string{"Bearer", "DPoP"},
		}
	}
	return p, nil
}

// A denial is answered with its status, challenges, time and message.
func TestDenial(t *testing.T) {
	w := httptest.NewRecorder()
	if _, ok := NewGuard(named{}, Options{}).Admit(w, httptest.NewRequest("GET", "/", nil), "GET"); ok {
		t.Fatal("it was let in")
	}
	const body = `{"jsonrpc":"2.0","error":{"code":-31401,"message":"who are you?"}}`
	if w.Code != 401 || strings.Join(w.Header()["Www-Authenticate"], "|") != "Bearer|DPoP" || w.Body.String() != body {
		t.Errorf("%d, %v, %s", w.Code, w.Header(), w.Body)
	}
}

// What stands in the way comes in a fixed order: host and origin, the preflight, credentials, the method.
func TestEnter(t *testing.T) {
	local := Options{Hosts: []string{"localhost", "::1"}, Origins: []string{"https://App.example/"}}
	for name, c := range map[string]struct {
		o                             Options
		method, host, origin, subject string
		want                          int // 0: let in
	}{
		"any host":               {Options{}, "GET", "edge.example", "", "a", 0},
		"a host by name":         {local, "GET", "LocalHost:8080", "", "a", 0},
		"a host by address":      {local, "GET", "[::1]:8080", "", "a", 0},
		"another host":           {local, "GET", "evil.example", "", "a", 403},
		"allowed origin":         {local, "GET", "localhost", "https://app.example", "a", 0},
		"origin on this host":    {local, "GET", "localhost", "http://localhost:5173", "a", 0},
		"the edge's own address": {Options{}, "GET", "192.0.2.1:8080", "http://192.0.2.1:8080", "a", 0},
		"a name may be rebound":  {Options{}, "GET", "evil.example:8080", "http://evil.example:8080", "a", 403},
		"another port":           {Options{}, "GET", "192.0.2.1:8080", "http://192.0.2.1:9999", "a", 403},
		"another origin":         {local, "GET", "localhost", "https://evil.example", "a", 403},
		"null origin":            {local, "GET", "localhost", "null", "a", 403},
		"any origin":             {Options{Origins: []string{"*"}}, "GET", "edge.example", "null", "a", 0},
		"preflight":              {local, "OPTIONS", "localhost", "https://app.example", "", 204},
		"evil preflight":         {local, "OPTIONS", "localhost", "https://evil.example", "", 403},
		"unknown caller":         {local, "GET", "localhost", "", "", 401},
		"unknown caller's PUT":   {local, "PUT", "localhost", "", "", 401},
		"PUT":                    {local, "PUT", "localhost", "", "a", 405},
		"part of a method":       {local, "GE", "localhost", "", "a", 405},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, "/", nil)
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			r.Header.Set("Authorization", c.subject)
			w := httptest.NewRecorder()
			p, ok := NewGuard(named{}, c.o).Admit(w, r, "GET, OPTIONS")
			if ok != (c.want == 0) {
				t.Fatalf("let in: %t, status %d", ok, w.Code)
			}
			if ok && (p.Subject != c.subject || c.origin != "" && w.Header().Get("Access-Control-Allow-Origin") != c.origin) {
				t.Errorf("principal %+v, headers %v", p, w.Header())
			}
			if !ok && w.Code != c.want {
				t.Errorf("status %d, want %d", w.Code, c.want)
			}
			if (w.Code == 405) != (w.Header().Get("Allow") == "GET, OPTIONS") {
				t.Errorf("status %d, Allow %q", w.Code, w.Header().Get("Allow"))
			}
		})
	}
}

// What a client sent is shown back bounded.
func TestRefusalsAreBounded(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Origin", "https://"+strings.Repeat("x", 10_000))
	w := httptest.NewRecorder()
	if _, ok := NewGuard(nil, Options{}).Admit(w, r, "GET"); ok || w.Body.Len() > 400 {
		t.Errorf("let in: %t; a body of %d bytes", ok, w.Body.Len())
	}
}
