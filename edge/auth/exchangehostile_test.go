package auth_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// echoes serves each connection with a response that has TOKEN replaced by a text of the request, and returns the
// URL.
func echoes(t *testing.T, response, token string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			buf := make([]byte, 64<<10)
			_, _ = c.Read(buf)
			_, _ = io.WriteString(c, strings.ReplaceAll(response, "TOKEN", token))
			_ = c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// echoed are responses that have a secret of the request where errors of HTTP clients quote the server.
var echoed = map[string]string{
	"the reason phrase of a refusal": "HTTP/1.1 400 TOKEN\r\nContent-Length: 0\r\n\r\n",
	"the reason phrase of a failure": "HTTP/1.1 500 TOKEN\r\nContent-Length: 0\r\n\r\n",
	"the version":                    "TOKEN\r\n\r\n",
	"the status":                     "HTTP/1.1 TOKEN OK\r\n\r\n",
	"a header line":                  "HTTP/1.1 200 OK\r\nTOKEN\r\n\r\n",
	"a length":                       "HTTP/1.1 200 OK\r\nContent-Length: TOKEN\r\n\r\n",
	"a redirect":                     "HTTP/1.1 307 Go\r\nLocation: http://[TOKEN\r\nContent-Length: 0\r\n\r\n",
	"a transfer coding":              "HTTP/1.1 200 OK\r\nTransfer-Encoding: TOKEN\r\n\r\n",
	"the code of an error":           "HTTP/1.1 400 Bad\r\nContent-Length: 40\r\n\r\n{\"error\":\"TOKEN\"}" + strings.Repeat(" ", 40),
}

// No response makes an error or a log line show the caller's token, wherever the issuer writes it.
func TestExchangeQuotesNoToken(t *testing.T) {
	for name, response := range echoed {
		t.Run(name, func(t *testing.T) {
			const token = "anopaquetoken" // It looks like the code of an error.
			i := issuer.Serve(t)
			var log bytes.Buffer
			o := exchanging(i)
			o.Issuers[0].Exchange.URL = echoes(t, response, token)
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			x := newAuth(t, o).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
			ctx, who := of(t, i, token)
			_, value, err := x.Prove(ctx, who, "call")
			if err == nil || value != "" || !strings.Contains(log.String(), "cannot be exchanged") {
				t.Fatalf("%q, %v, logged: %s", value, err, &log)
			}
			if said := fmt.Sprintf("%v %+v %v", err, err, mcp.AsError(err).Err) + log.String(); strings.Contains(said, token) {
				t.Errorf("the token is shown: %s", said)
			}
		})
	}
}

// No response makes a log line show an opaque token under introspection.
func TestIntrospectionQuotesNoToken(t *testing.T) {
	for name, response := range echoed {
		t.Run(name, func(t *testing.T) {
			const token = "anopaquetoken"
			var log bytes.Buffer
			o := asked(issuer.Serve(t))
			o.Transport = nil
			o.Issuers[0].Introspection.URL = echoes(t, response, token)
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			_, denied := newAuth(t, o).Authenticate(bearer(token))
			if denied == nil || !strings.Contains(log.String(), "introspection of opaque tokens fails") {
				t.Fatalf("%+v, logged: %s", denied, &log)
			}
			if said := fmt.Sprintf("%+v", denied) + log.String(); strings.Contains(said, token) {
				t.Errorf("the token is shown: %s", said)
			}
		})
	}
}

// A token that was exchanged for a caller is not used for the same credentials once these are another
// caller's, or have other rights or claims.
func TestExchangedTokenIsOfTheCallerNow(t *testing.T) {
	i := issuer.New("https://id.example")
	synctest.Test(t, func(t *testing.T) {
		o := asked(i)
		o.Claims, o.Issuers[0].Exchange = []string{"tenant"}, exchangeOf()
		a := newAuth(t, o)
		x := a.Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
		described := i.Claims("alice", resource)
		described["tenant"] = "acme"
		token := i.Opaque(described)
		prove := func() string {
			t.Helper()
			p, denied := a.Authenticate(bearer(token))
			if denied != nil {
				t.Fatalf("%+v", denied)
			}
			_, value, err := x.Prove(mcp.WithToken(t.Context(), mcp.NewToken(token)), &p, "call")
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
		before := prove()
		if prove() != before {
			t.Error("a token is exchanged twice")
		}
		for _, change := range []claims{{"tenant": "globex"}, {"sub": "bob"}, {"scope": "mcp:read"}, {"client_id": "another"}} {
			changed := i.Claims("alice", resource)
			changed["tenant"] = "acme"
			for name, value := range change {
				changed[name] = value
			}
			i.Describe(token, changed)
			time.Sleep(2 * time.Minute) // the issuer is queried again
			now := prove()
			if now == before {
				t.Errorf("%v: the token of before is sent", change)
			}
			before = now
		}
	})
}

// Members of responses are read by their exact names: another one that differs in case alone replaces
// none, and is none.
func TestMembersAreExact(t *testing.T) {
	i := issuer.Serve(t)
	x := newAuth(t, exchanging(i)).Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"})
	for n, c := range []struct{ body, want string }{
		{`{"access_token":"a","Access_Token":"b","token_type":"Bearer","TOKEN_TYPE":"x"}`, "Bearer a"},
		{`{"Access_Token":"b","token_type":"Bearer"}`, ""},
		{`{"access_token":"b","Token_Type":"Bearer"}`, ""},
	} {
		i.ExchangeWith(func(*http.Request) (int, string) { return http.StatusOK, c.body })
		ctx, who := of(t, i, i.Token(fmt.Sprint("caller", n), resource))
		if _, value, err := x.Prove(ctx, who, "call"); value != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.body, value, err, c.want)
		}
	}
}
