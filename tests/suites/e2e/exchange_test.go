package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// withExchange has an issuer's tokens be exchanged.
func withExchange(t *testing.T) func(*config.Config) {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(issuer.ClientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(c *config.Config) {
		c.Auth.Issuers[0].Exchange = &config.IssuerExchange{ClientID: issuer.ClientID, ClientSecretFile: secret}
	}
}

// exchanging is a backend that gets tokens of its own, behind edges that share a Redis, and one that does not.
type exchanging struct {
	*fixture
	id     *issuer.Issuer
	edges  []*harness.Edge
	redis  *redisserver.Server
	own    *witness
	others *witness
	audit  string
}

func startExchanging(t *testing.T, n int, adjust ...func(*config.Config)) *exchanging {
	t.Helper()
	x := &exchanging{id: issuer.Serve(t), own: &witness{}, others: &witness{}, redis: redisserver.ForTest(t), audit: filepath.Join(t.TempDir(), "audit.jsonl")}
	x.fixture = newFixture(x.own.option())
	addWhoami(x.Server)
	capability.AddTool(x.Server, "gate_again", "Waits until it is cancelled, and may be run again",
		func(ctx context.Context, c *capability.Call, _ struct{}) (string, error) {
			c.Progress(1, 3, "waiting")
			x.started <- "again"
			<-ctx.Done()
			return "", ctx.Err()
		}, capability.Idempotent())
	other := capability.New("other", "1", x.others.option())
	addWhoami(other)
	backends := []config.Backend{
		{Name: "crm", Target: startService(t, x.Server).Addr, Identity: config.IdentityExchange, Exchange: &config.BackendExchange{Scopes: config.Names{"crm:read"}}},
		{Name: "other", Target: startService(t, other).Addr, Prefix: "other_"},
	}
	adjust = append([]func(*config.Config){withAuth(x.id), withExchange(t), func(c *config.Config) {
		c.Redis.URL, c.Audit = x.redis.URL(), &config.Audit{File: x.audit + c.Server.Replica}
	}}, adjust...)
	for i := range n {
		x.edges = append(x.edges, startEdge(t, backends, append([]func(*config.Config){func(c *config.Config) { c.Server.Replica = fmt.Sprint("r", i) }}, adjust...)...))
	}
	return x
}

// given are the tokens that the issuer gave for one of the callers'.
func (x *exchanging) given(token string) (given []string) {
	for _, e := range x.id.Exchanged() {
		if e.Form.Get("subject_token") == token {
			given = append(given, e.Token)
		}
	}
	return given
}

// sent is the token that the last call came with.
func (x *exchanging) sent(t *testing.T) string {
	t.Helper()
	all := x.own.all("authorization")
	if len(all) == 0 {
		t.Fatal("no call came with a token")
	}
	return strings.TrimPrefix(all[len(all)-1], "Bearer ")
}

// TestExchangedIdentity: a backend gets a token of its own for each caller, in each era and over each transport; a later round
// uses the credentials of the request that answered, at whichever replica; no token is where it should not be.
func TestExchangedIdentity(t *testing.T) {
	var mu sync.Mutex
	var exported bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		mu.Lock()
		exported.Write(raw)
		mu.Unlock()
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	x := startExchanging(t, 2, func(c *config.Config) { c.Telemetry.TraceContent, c.Log.Level = true, "debug" })
	first, second := x.id.Token("alice", public), x.id.Token("alice", public, map[string]any{"scope": "mcp:read"})

	check := func(what, token string) {
		t.Helper()
		if given := x.given(token); !slices.Contains(given, x.sent(t)) {
			t.Errorf("%s: the backend got a token that is none of the %d that the issuer gave for the caller's", what, len(given))
		}
	}
	statelessAs(t, x.edges[0], first).call("whoami", "").text()
	check("without a session", first)
	s := sessionAs(t, x.edges[0], vNov, first)
	s.call("whoami", "").text()
	check("in a session", first)
	if n := len(x.given(first)); n != 1 {
		t.Errorf("%d exchanges at one replica for one token", n)
	}
	form := x.id.Exchanged()[0].Form
	if form.Get("audience") != "crm" || form.Get("scope") != "crm:read" {
		t.Errorf("asked for %v", form)
	}

	// The one who answers counts.
	stream := s.call("who_asked", "").events()
	s.seenBy(x.edges[1], second).answer(stream.awaitMethod("elicitation/create"), answers["elicitation/create"])
	if got := text(t, stream.response().result(t)); !strings.Contains(got, "[mcp:read] ") {
		t.Errorf("the second round is %q's", got)
	}
	check("in a session, answered with another token at another replica", second)
	asked := statelessAs(t, x.edges[0], first).call("who_asked", "").result()
	statelessAs(t, x.edges[1], second).call("who_asked", "", retry(t, asked, `{"name":`+answers["elicitation/create"]+`}`)).text()
	check("without a session, answered with another token at another replica", second)

	// HTTP+SSE: the message may be read by another replica than the one that has the connection.
	for _, e := range x.edges {
		c := newCaller(t, "http://"+x.edges[0].Host+"/sse")
		c.as(first)
		open := c.send(t, "GET", "").want(200).events()
		ev, _ := open.next()
		at := newCaller(t, "http://"+e.Host+ev.Data)
		at.as(first)
		at.send(t, "POST", envelope("1", "initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":`+clientInfo+`}`)).want(202)
		open.response()
		at.send(t, "POST", envelope("2", "tools/call", `{"name":"whoami","arguments":{}}`)).want(202)
		if m := open.response(); m.Error != nil {
			t.Errorf("over HTTP+SSE: %s", m.raw)
		}
		check("over HTTP+SSE", first)
		at.as(second)
		at.send(t, "POST", envelope("3", "tools/call", `{"name":"whoami","arguments":{}}`)).want(202)
		m := open.response()
		if e == x.edges[0] {
			check("over HTTP+SSE, with another token", second)
		} else if m.Error == nil || !strings.Contains(string(m.raw), "-31403") {
			t.Errorf("over HTTP+SSE, with other rights than the connection's: %s", m.raw)
		}
	}

	statelessAs(t, x.edges[0], first).call("other_whoami", "").text()
	if got := x.others.all("authorization"); len(got) != 0 {
		t.Errorf("a backend without exchange got %d tokens", len(got))
	}
	await.Until(t, "spans are exported", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return bytes.Contains(exported.Bytes(), []byte("who_asked"))
	})
	gate := s.callWithProgress("gate", `{"name":"searched"}`, "p").events()
	<-x.started // so that Redis has a call that runs
	found := map[string]string{"redis": dump(t, x.redis.Addr), "a state": fmt.Sprint(asked["requestState"])}
	close(x.gate("searched"))
	gate.response().result(t)
	mu.Lock()
	found["spans"] = exported.String()
	mu.Unlock()
	for i, e := range x.edges {
		var raw []byte
		await.Until(t, "the audit is written", func() bool {
			raw, _ = os.ReadFile(x.audit + fmt.Sprint("r", i))
			return len(raw) > 0
		})
		found[fmt.Sprint("audit ", i)], found[fmt.Sprint("log ", i)] = string(raw), e.Log.String()
	}
	secret := []string{first, second}
	for _, e := range x.id.Exchanged() {
		secret = append(secret, e.Token)
	}
	for where, text := range found {
		if text == "" {
			t.Errorf("%s is empty", where)
		}
		for _, token := range secret {
			parts := strings.Split(token, ".")
			if strings.Contains(text, parts[1][:40]) || strings.Contains(text, parts[2][:40]) {
				t.Errorf("%s has a token", where)
			}
		}
	}
	for _, token := range x.own.all("authorization") {
		if slices.Contains(secret[:2], strings.TrimPrefix(token, "Bearer ")) {
			t.Error("the backend got the caller's own token")
		}
	}
}

// TestFirstExchangeWhileRunning: a backend of a running edge gets tokens of its own without a restart, though none did at the start.
func TestFirstExchangeWhileRunning(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, own := issuer.Serve(t), &witness{}
	f := newFixture(own.option())
	addWhoami(f.Server)
	service := startService(t, f.Server)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(issuer.ClientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("listen: {public-url: %s}\nauth: {issuers: [{issuer: %q, exchange: {client-id: %s, client-secret-file: %q}}]}\nbackends:\n",
		public, id.URL, issuer.ClientID, secret)
	g := govern(t, settings+backend("crm", service, ""))
	g.change(settings + backend("crm", service, ", identity: exchange"))
	c := statelessAs(t, g.Edge, id.Token("alice", public))
	if r := c.call("whoami", ""); r.status != 200 || len(id.Exchanged()) != 1 || len(own.all("authorization")) == 0 {
		t.Errorf("%d %s, %d tokens were exchanged", r.status, r.body, len(id.Exchanged()))
	}
}

// TestExchangeRefused: who has nothing to exchange is told so, and so is whose issuer gives nothing; a token that is not good
// any more is 401, and nothing else is.
func TestExchangeRefused(t *testing.T) {
	t.Parallel() // it waits for most of its time
	const key = "the-key-of-a-machine"
	sum := sha256.Sum256([]byte(key))
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(keys, []byte("- {name: ci, sha256: "+hex.EncodeToString(sum[:])+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := startExchanging(t, 1, func(c *config.Config) { c.Auth.APIKeys, c.Auth.Optional = keys, true })
	e := x.edges[0]
	refused := func(r *reply, status int, code, text string) {
		t.Helper()
		if r.status != status || !strings.Contains(string(r.body), `"code":`+code+`,`) || !strings.Contains(string(r.body), text) {
			t.Errorf("%d %s, want %d %s %q", r.status, r.body, status, code, text)
		}
	}
	for name, call := range map[string]func(token string) *reply{
		"without a session": func(token string) *reply { return statelessAs(t, e, token).call("whoami", "") },
		"in a session":      func(token string) *reply { return sessionAs(t, e, vNov, token).call("whoami", "") },
	} {
		refused(call(key), 200, "-31403", "these credentials cannot be exchanged")
		for _, c := range []struct {
			status  int
			body    string
			want    int
			code    string
			message string
		}{
			{400, `{"error":"access_denied"}`, 200, "-31403", "(access_denied)"},
			{401, `{"error":"invalid_client"}`, 200, "-32603", "ask its operator to correct the configuration"},
			{503, ``, 200, "-31502", "try again later"},
			{400, `{"error":"invalid_grant"}`, 401, "-31401", "get a new one"},
		} {
			x.id.ExchangeWith(func(*http.Request) (int, string) { return c.status, c.body })
			r := call(x.id.Token("alice", public))
			refused(r, c.want, c.code, c.message)
			if challenge := r.header.Get("WWW-Authenticate"); (c.want == 401) != strings.Contains(challenge, `error="invalid_token"`) {
				t.Errorf("%s, %s: challenge %q", name, c.body, challenge)
			}
			x.id.ExchangeWith(nil)
		}
		if n := x.own.calls(); n != 0 {
			t.Errorf("%s: the backend got %d calls", name, n)
		}
	}
	anonymous := newStateless(t, e.URL).call("whoami", "")
	refused(anonymous, 401, "-31401", "call over HTTP with an access token")
	if c := anonymous.header.Get("WWW-Authenticate"); !strings.HasPrefix(c, "Bearer ") || strings.Contains(c, "error=") {
		t.Errorf("challenge %q", c)
	}
	if n := x.id.Exchanges.Load(); n == 0 {
		t.Error("the issuer was never asked")
	}
	if got := statelessAs(t, e, x.id.Token("alice", public)).call("whoami", "").text(); !strings.HasPrefix(got, "alice ") {
		t.Errorf("in the end: %q", got)
	}
}

// TestExchangedIdentityIsLost: a call that another replica takes over has no token any more: it ends as one whose outcome is
// not known, with data that says why, though its tool could be run again.
func TestExchangedIdentityIsLost(t *testing.T) {
	t.Parallel() // it waits for most of its time
	x := startExchanging(t, 2, func(c *config.Config) {
		c.Redis.Lease, c.Calls.StreamAfter, c.Shutdown.Grace = time.Second, 10*time.Millisecond, 500*time.Millisecond
	})
	token := x.id.Token("alice", public)
	s := sessionAs(t, x.edges[0], vNov, token)
	stream := s.callWithProgress("gate_again", "", "p").events()
	<-x.started
	stream.awaitMethod("notifications/progress")
	x.edges[0].Stop()
	_ = x.edges[0].Wait(t) // that the call was cut off
	m := s.seenBy(x.edges[1], token).get(stream.lastID).want(http.StatusOK).events().response()
	if raw := string(m.raw); !strings.Contains(raw, "-31520") || !strings.Contains(raw, `"data":{"reason":"identity_lost","backend":"crm"}`) {
		t.Errorf("it ended with %s", raw)
	}
	if got := sessionAs(t, x.edges[1], vNov, token).call("whoami", "").text(); !strings.HasPrefix(got, "alice ") {
		t.Errorf("another call: %q", got)
	}
}

// TestExchangeTakesNoPlace: who waits for an issuer has none of the backend's places, so that an issuer which does not answer
// keeps nobody from the backend whose token is at hand.
func TestExchangeTakesNoPlace(t *testing.T) {
	t.Parallel() // it waits for most of its time
	x := startExchanging(t, 1, func(c *config.Config) { c.Backends[0].MaxConcurrent = 1 })
	alice, bob := x.id.Token("alice", public), x.id.Token("bob", public)
	e := x.edges[0]
	statelessAs(t, e, alice).call("whoami", "").text()
	asked, answer := make(chan struct{}), make(chan struct{})
	x.id.ExchangeWith(func(*http.Request) (int, string) {
		close(asked)
		<-answer
		return http.StatusServiceUnavailable, ""
	})
	waiting := make(chan *reply)
	other := statelessAs(t, e, bob)
	go func() { waiting <- other.call("whoami", "") }()
	<-asked
	for name, r := range map[string]*reply{
		"without a session": statelessAs(t, e, alice).call("whoami", ""), "in a session": sessionAs(t, e, vNov, alice).call("whoami", ""),
	} {
		if !strings.Contains(string(r.body), "alice ") {
			t.Errorf("%s, while another one's token is waited for: %s", name, r.body)
		}
	}
	close(answer)
	if got := <-waiting; !strings.Contains(string(got.body), "-31502") {
		t.Errorf("who waited: %s", got.body)
	}
}

// TestRefusedTokenIsForgotten: a token that the backend does not accept is not sent again. The call is not made again.
func TestRefusedTokenIsForgotten(t *testing.T) {
	t.Parallel() // it waits for most of its time
	x := startExchanging(t, 1)
	e, token := x.edges[0], x.id.Token("alice", public)
	call := func() string { return string(statelessAs(t, e, token).call("whoami", "").body) }
	call()
	revoked := x.sent(t)
	x.own.refuse(revoked)
	if got := call(); !strings.Contains(got, "-32603") || x.own.calls() != 2 {
		t.Errorf("with a token that is not accepted: %s, %d calls", got, x.own.calls())
	}
	if got := call(); !strings.Contains(got, "alice ") || x.sent(t) == revoked {
		t.Errorf("the next call: %s", got)
	}
	if n := len(x.given(token)); n != 2 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

// TestBoundTokensAreExchanged: a token that is bound to its client's key is exchanged like another one.
func TestBoundTokensAreExchanged(t *testing.T) {
	t.Parallel() // it waits for most of its time
	x := startExchanging(t, 1, func(c *config.Config) { c.Auth.DPoP = config.DPoPRequire })
	client := issuer.NewProver()
	token := x.id.Token("alice", public, client.Bound())
	headers := append(modernHeaders("tools/call", "whoami"), "Authorization", "DPoP "+token, "DPoP", client.Proof("POST", public+"/mcp", token, nil, nil))
	got := newCaller(t, x.edges[0].URL).send(t, "POST", envelope("1", "tools/call", `{"name":"whoami","arguments":{},"_meta":{`+metaBoth+`}}`), headers...)
	if got.status != 200 || !strings.Contains(string(got.body), "alice ") {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if given := x.given(token); len(given) != 1 || given[0] != x.sent(t) {
		t.Errorf("the backend got another token than the %d that the issuer gave", len(given))
	}
}
