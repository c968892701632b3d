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

// A refused host or origin is reported with its reason, and the message to the caller names the setting
// that would allow it, if there is one.
func TestForeignCallersAreReported(t *testing.T) {
	o := Options{Hosts: []string{"localhost"}, HostsKey: "hosts", OriginsKey: "origins"}
	for name, c := range map[string]struct {
		o                     Options
		header, value, reason string
		want                  string
	}{
		"a host":                {o, "Host", "MCP.example.com:8080", ReasonHost, `host "MCP.example.com:8080" is not served here: call the edge by a name it is configured for, or add mcp.example.com to its setting hosts`},
		"a host, no setting":    {Options{Hosts: o.Hosts}, "Host", "a.example", ReasonHost, `host "a.example" is not served here: call the edge by a name it is configured for`},
		"a malformed host":      {o, "Host", "a..b", ReasonMalformed, `host "a..b" is malformed: send a name or an address, with a port or without a colon`},
		"an origin":             {o, "Origin", "https://a.example", ReasonOrigin, `origin "https://a.example" is not allowed: if its pages may call, add it to the edge's setting origins`},
		"an origin, no setting": {Options{}, "Origin", "https://a.example", ReasonOrigin, `origin "https://a.example" is not allowed`},
		"another site":          {o, "Sec-Fetch-Site", "cross-site", ReasonSite, `a page of another site may not call (Sec-Fetch-Site: "cross-site"): open the address itself`},
		"allowed":               {o, "Origin", "http://localhost", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var reason, message string
			c.o.Refused = func(_ *http.Request, r, m string) { reason, message = r, m }
			r := httptest.NewRequest("GET", "/", nil)
			if r.Host = "localhost"; c.header == "Host" {
				r.Host = c.value
			} else {
				r.Header.Set(c.header, c.value)
			}
			w := httptest.NewRecorder()
			NewGuard(nil, c.o).Admit(w, r, "GET")
			if reason != c.reason || message != c.want || (w.Code == http.StatusForbidden) != (c.want != "") {
				t.Errorf("%d, reason %q, message %q; want %q, %q", w.Code, reason, message, c.reason, c.want)
			}
		})
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

// Hosts and origins in a form that no client and no browser writes are refused, whether names are configured or not.
func TestOddHostsAndOrigins(t *testing.T) {
	local := Options{Hosts: []string{"localhost", "127.0.0.1", "::1"}, Origins: []string{"https://app.example", "http://[fd00::1]:3000"}}
	admitted := func(o Options, host string, headers ...string) bool {
		r := httptest.NewRequest("POST", "/", nil)
		r.Host = host
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		_, ok := NewGuard(nil, o).Admit(httptest.NewRecorder(), r, "POST")
		return ok
	}
	for _, host := range []string{"localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:1", "[::1]", "[::1]:65535"} {
		if !admitted(local, host) {
			t.Errorf("host %q is refused", host)
		}
	}
	for _, host := range []string{"mcp.example.com", "edge_1:8080", "192.0.2.1:8080", "[2001:db8::1]:8080", ""} {
		if !admitted(Options{}, host) {
			t.Errorf("host %q is refused where any is served", host)
		}
	}
	for _, host := range []string{
		"localhost.", "localhost:", "localhost:0", "localhost:65536", "localhost:+1", "localhost:8080:1", "u@localhost", "u:p@localhost", "localhost@evil.example",
		"[localhost]", "[::1", "::1", "[::1%25lo]", "[::1%lo]:1", "[::1]x", "[127.0.0.1]", "localhost/", "localhost#", "localhost?", "local host", "localhost,evil.example",
		"localhost\\", ".localhost", "local..host", "localhost\u3002", "%6cocalhost", "[::ffff:127.0.0.1%1]",
	} {
		for name, o := range map[string]Options{"names": local, "any": {}} {
			if admitted(o, host) {
				t.Errorf("host %q is let in with %s", host, name)
			}
		}
	}
	for _, origin := range []string{"https://app.example", "http://localhost:5173", "http://127.0.0.1", "http://[::1]:3000", "http://[fd00::1]:3000"} {
		if !admitted(local, "localhost", "Origin", origin) {
			t.Errorf("origin %q is refused", origin)
		}
	}
	for _, origin := range []string{
		"null", "https://App.example", "HTTPS://app.example", "https://app.example.", "https://app.example:", "https://app.example/", "https://app.example/x",
		"https://u@app.example", "https://app.example@evil.example", "http://localhost:", "http://localhost.", "http://u:p@localhost", "http://evil.example@localhost",
		"http://[::1%25lo]", "http://localhost?x", "http://localhost#", "http:localhost", "//localhost", "localhost", "://localhost", "1x://localhost", "http://localhost http://localhost",
		"http://localhost,https://app.example", " http://localhost", "http://localhost\t",
	} {
		if admitted(local, "localhost", "Origin", origin) {
			t.Errorf("origin %q is let in", origin)
		}
	}
	if admitted(local, "localhost", "Origin", "https://app.example", "Origin", "https://app.example") || admitted(local, "localhost", "Host", "evil.example") {
		t.Error("headers that are sent twice are let in")
	}
}

// What a browser sends for a page of another site is refused unless its origin is allowed.
func TestCrossSite(t *testing.T) {
	local := Options{Hosts: []string{"localhost"}, Origins: []string{"https://app.example"}}
	for _, x := range []struct {
		o            Options
		site, origin string
		want         bool
	}{
		{local, "", "", true},
		{local, "none", "", true},
		{local, "same-origin", "", true},
		{local, "cross-site", "", false},
		{local, "same-site", "", false},
		{local, "Cross-Site", "", false},
		{local, "other", "", false},
		{local, "cross-site", "https://app.example", true},
		{local, "same-site", "http://localhost:5173", true},
		{local, "cross-site", "https://evil.example", false},
		{local, "same-origin", "https://evil.example", false},
		{Options{}, "cross-site", "", false},
		{Options{Origins: []string{"*"}}, "cross-site", "", true},
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "PUT"} {
			r := httptest.NewRequest(method, "/", nil)
			r.Host = "localhost"
			if x.site != "" {
				r.Header.Set("Sec-Fetch-Site", x.site)
			}
			if x.origin != "" {
				r.Header.Set("Origin", x.origin)
			}
			if _, ok := NewGuard(nil, x.o).Admit(httptest.NewRecorder(), r, "GET, POST, DELETE, PUT"); ok != x.want {
				t.Errorf("%s of a page that is %q, %q: let in %t", method, x.site, x.origin, ok)
			}
		}
	}
}

// A page may be linked to, in a window of its own, and nothing else of it is another site's to call.
func TestLinkedPages(t *testing.T) {
	for _, x := range []struct {
		linked             bool
		method, mode, dest string
		want               bool
	}{
		{true, "GET", "navigate", "document", true},
		{false, "GET", "navigate", "document", false},
		{true, "GET", "navigate", "iframe", false},
		{true, "GET", "no-cors", "image", false},
		{true, "GET", "", "", false},
		{true, "POST", "navigate", "document", false},
	} {
		r := httptest.NewRequest(x.method, "/", nil)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", x.mode)
		r.Header.Set("Sec-Fetch-Dest", x.dest)
		if _, ok := NewGuard(nil, Options{Linked: x.linked}).Admit(httptest.NewRecorder(), r, "GET, POST"); ok != x.want {
			t.Errorf("%+v: let in %t", x, ok)
		}
	}
}
