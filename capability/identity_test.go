package capability_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	"github.com/mcpedge/mcpedge/edge/identity"
	"github.com/mcpedge/mcpedge/edge/mcp"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// edgeKeys simulates an edge's key and the address of its public keys.
type edgeKeys struct {
	*identity.Keys
	private ed25519.PrivateKey
	url     string
	fetches atomic.Int64
	// answer replaces the response; nil returns the keys.
	answer atomic.Pointer[http.HandlerFunc]
}

func newEdgeKeys(t *testing.T) *edgeKeys {
	t.Helper()
	e := &edgeKeys{}
	e.renew(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.fetches.Add(1)
		if fn := e.answer.Load(); fn != nil {
			(*fn)(w, r)
			return
		}
		_, _ = w.Write(e.JWKS())
	}))
	t.Cleanup(s.Close)
	e.url = s.URL + "/.well-known/jwks.json"
	return e
}

// renew replaces the key.
func (e *edgeKeys) renew(t *testing.T) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	raw := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if e.Keys, err = identity.Open(func() ([]byte, error) { return raw, nil }, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	e.private = private
}

// prove returns the metadata that the edge sends for a caller.
func (e *edgeKeys) prove(t *testing.T, audience, call string) string {
	t.Helper()
	s := &identity.Signer{Keys: e.Keys, Issuer: "https://edge", Audience: audience, Claims: []string{"tenant"}}
	_, value, err := s.Prove(t.Context(), &mcp.Principal{
		Subject: "alice", Issuer: "https://id", Scopes: []string{"a", "b"}, Roles: []string{"r"}, Client: "desk", Actor: "agent", SubjectIsClient: true,
		Forwarded: map[string]json.RawMessage{"tenant": json.RawMessage(`"acme"`)},
	}, call)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// sign signs claims verbatim.
func (e *edgeKeys) sign(t *testing.T, method jwt.SigningMethod, key any, typ string, changes jwt.MapClaims) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": "alice", "aud": "crm", "txn": "c1", "exp": time.Now().Add(time.Minute).Unix()}
	for name, v := range changes {
		if claims[name] = v; v == nil {
			delete(claims, name)
		}
	}
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"], token.Header["typ"] = e.ID(), typ
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// guarded is a backend that requires identities. Its tools, resources and prompts return the
// caller.
func guarded(t *testing.T, e *edgeKeys) *capabilitytest.Client {
	t.Helper()
	s := capability.New("crm", "1", capability.RequireIdentity(e.url, "crm"))
	who := func(c *capability.Call) string {
		p := c.Principal()
		tenant, _ := c.Claim("tenant")
		return fmt.Sprintf("%s %s %v %v %s %s %s %v", p.GetSubject(), p.GetIssuer(), p.GetScopes(), p.GetRoles(), p.GetClientId(), p.GetActor(), tenant, p.GetSubjectIsClient())
	}
	capability.AddTool(s, "who", "Says who calls", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) { return who(c), nil })
	capability.AddResource(s, &capability.Resource{Uri: "who://x", Name: "x"}, func(_ context.Context, c *capability.Call, _ string) (string, error) { return who(c), nil })
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "t://{id}", Name: "t"},
		func(_ context.Context, _ *capability.Call, _ string, _ map[string]string) (string, error) {
			return "", nil
		}, capability.Suggest("id", "a"))
	capability.AddPrompt(s, &capability.Prompt{Name: "who", Arguments: []*capability.PromptArgument{{Name: "x"}}},
		func(_ context.Context, c *capability.Call, _ map[string]string) (string, error) { return who(c), nil }, capability.Suggest("x", "a"))
	return capabilitytest.Start(t, s)
}

// work calls all kinds of work with metadata, and returns the result of each.
func work(t *testing.T, c *capabilitytest.Client, md ...string) map[string]error {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(limit(t), md...)
	rc := &mcpedgev1.RequestContext{CallId: "c1", Principal: &mcpedgev1.Principal{Subject: "mallory"}}
	const want = "alice https://id [a b] [r] desk agent acme true"
	out := map[string]error{}
	note := func(kind, text string, err error) {
		if out[kind] = err; err == nil && !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q in it", kind, text, want)
		}
	}
	tool, err := c.Tools.CallTool(ctx, &mcpedgev1.CallToolRequest{Name: "who", ArgumentsJson: "{}", Context: rc})
	if err == nil {
		var m *mcpedgev1.CallToolResponse
		m, err = tool.Recv()
		note("tool", m.GetResult().String(), err)
	}
	read, err := c.Resources.ReadResource(ctx, &mcpedgev1.ReadResourceRequest{Uri: "who://x", Context: rc})
	if err == nil {
		var m *mcpedgev1.ReadResourceResponse
		m, err = read.Recv()
		note("read", m.GetResult().String(), err)
	}
	get, err := c.Prompts.GetPrompt(ctx, &mcpedgev1.GetPromptRequest{Name: "who", Context: rc})
	if err == nil {
		var m *mcpedgev1.GetPromptResponse
		m, err = get.Recv()
		note("prompt", m.GetResult().String(), err)
	}
	_, out["complete prompt"] = c.Prompts.CompletePrompt(ctx, &mcpedgev1.CompletePromptRequest{Name: "who", ArgumentName: "x", Context: rc})
	_, out["complete template"] = c.Resources.CompleteResourceTemplate(ctx, &mcpedgev1.CompleteResourceTemplateRequest{UriTemplate: "t://{id}", ArgumentName: "id", Context: rc})
	if len(out) != 5 {
		t.Fatalf("not all work could be begun: %v, %v", out, err)
	}
	return out
}

// Every kind of work needs an identity signed by the edge for this backend and this call. The
// principal is that of the identity, whatever the request contains.
func TestRequireIdentity(t *testing.T) {
	e, other := newEdgeKeys(t), newEdgeKeys(t)
	c := guarded(t, e)
	const typ = identity.Type
	good := e.prove(t, "crm", "c1")
	head, rest, _ := strings.Cut(good, ".")
	body, _, _ := strings.Cut(rest, ".")
	for name, tc := range map[string]struct {
		sent []string
		want string // empty means accepted
	}{
		"good":              {[]string{good}, ""},
		"clocks differ":     {[]string{e.sign(t, jwt.SigningMethodEdDSA, e.private, typ, jwt.MapClaims{"sub": "alice", "exp": time.Now().Add(-20 * time.Second).Unix(), "sub_id": map[string]string{"iss": "https://id"}, "scope": "a b", "roles": []string{"r"}, "client_id": "desk", "act": map[string]string{"sub": "agent"}, "subject_is_client": true, "claims": map[string]string{"tenant": "acme"}})}, ""},
		"none":              {nil, "the call has 0 identities"},
		"two":               {[]string{good, good}, "the call has 2 identities"},
		"no JWT":            {[]string{"x"}, "is not accepted"},
		"no signature":      {[]string{head + "." + body + "."}, "is not accepted"},
		"alg none":          {[]string{e.sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, typ, nil)}, "signing method none is invalid"},
		"HMAC":              {[]string{e.sign(t, jwt.SigningMethodHS256, []byte(e.private.Public().(ed25519.PublicKey)), typ, nil)}, "signing method HS256 is invalid"},
		"another edge's":    {[]string{other.prove(t, "crm", "c1")}, "which is not among those of"},
		"forged":            {[]string{e.sign(t, jwt.SigningMethodEdDSA, other.private, typ, nil)}, "verification error"},
		"another backend's": {[]string{e.prove(t, "erp", "c1")}, "invalid audience"},
		"another call's":    {[]string{e.prove(t, "crm", "c2")}, "its txn is not the call_id"},
		"of no call":        {[]string{e.prove(t, "crm", "")}, "its txn is not the call_id"},
		"expired":           {[]string{e.sign(t, jwt.SigningMethodEdDSA, e.private, typ, jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()})}, "token is expired"},
		"without an end":    {[]string{e.sign(t, jwt.SigningMethodEdDSA, e.private, typ, jwt.MapClaims{"exp": nil})}, "exp claim is required"},
		"an access token":   {[]string{e.sign(t, jwt.SigningMethodEdDSA, e.private, "at+jwt", nil)}, "its type is"},
	} {
		var md []string
		for _, s := range tc.sent {
			md = append(md, identity.Metadata, s)
		}
		for kind, err := range work(t, c, md...) {
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s, %s: %v", name, kind, err)
			case tc.want != "" && (status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%s, %s: %v, want %q", name, kind, err, tc.want)
			}
		}
	}
	if n := e.fetches.Load(); n > 6 {
		t.Errorf("the keys were fetched %d times", n)
	}
	if _, err := c.Tools.ListTools(limit(t), &mcpedgev1.ListToolsRequest{}); err != nil {
		t.Errorf("the edge's own list: %v", err)
	}
}

// Without keys, calls fail with a retryable status. New keys are found, and fetched keys outlast
// the edge.
func TestKeysOfTheEdge(t *testing.T) {
	e := newEdgeKeys(t)
	c := guarded(t, e)
	call := func() error { return work(t, c, identity.Metadata, e.prove(t, "crm", "c1"))["tool"] }
	tell := func(fn http.HandlerFunc) { e.answer.Store(&fn) }
	stranger := newEdgeKeys(t)
	large := strings.Repeat(" ", 2<<20) + string(e.JWKS())
	for _, broken := range []struct {
		fn   http.HandlerFunc
		want string
	}{
		{func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) }, "returned 500"},
		{func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, stranger.url, http.StatusFound) }, "returned 302"},
		{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }, "has no JWK Set"},
		{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[]}`)) }, "has no usable key"},
		{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(large)) }, "returned more than"},
	} {
		tell(broken.fn)
		err := awaitError(t, call, broken.want)
		if status.Code(err) != codes.Unavailable {
			t.Errorf("%v, want UNAVAILABLE", err)
		}
	}
	e.answer.Store(nil)
	awaitError(t, call, "")
	before := e.fetches.Load()
	for range 20 {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	if n := e.fetches.Load(); n != before {
		t.Errorf("%d fetches for keys that are known", n-before)
	}
	e.renew(t)
	awaitError(t, call, "")
	tell(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) })
	if err := call(); err != nil {
		t.Errorf("while the edge is away: %v", err)
	}
}

// awaitError repeats calls until one ends with an error that contains the text, or without an
// error.
func awaitError(t *testing.T, call func() error, want string) (err error) {
	t.Helper()
	ok := func() bool {
		err = call()
		if want == "" {
			return err == nil
		}
		return err != nil && strings.Contains(err.Error(), want)
	}
	await.Until(t, "a call that ends with "+strconv.Quote(want), ok)
	return err
}

// RequireIdentity panics if an argument is empty.
func TestRequireIdentityIsComplete(t *testing.T) {
	for _, half := range [][2]string{{"", "crm"}, {"http://edge", ""}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("RequireIdentity(%q, %q) is taken", half[0], half[1])
				}
			}()
			capability.RequireIdentity(half[0], half[1])
		}()
	}
}
