package e2e

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	"github.com/mcpedge/mcpedge/tests/helpers/apiserver"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// vault is a gRPC service that knows nothing of MCP, and serves nobody without the key that it wants, reflection included.
type vault struct {
	addr string
	mu   sync.Mutex
	key  string
	// seen is the metadata of the last call.
	seen metadata.MD
}

func serveVault(t *testing.T, key string) *vault {
	t.Helper()
	v := &vault{key: key}
	set := reflecttest.Compile(map[string]string{"vault.proto": `syntax = "proto3"; package vault.v1;
		message Door { string name = 1; }
		// Vault keeps doors.
		service Vault {
			// Opens a door
			rpc Open(Door) returns (Door);
		}`})
	guard := func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		v.mu.Lock()
		in, _ := metadata.FromIncomingContext(stream.Context())
		got := strings.Join(in.Get("x-api-key"), "|")
		want := v.key
		v.mu.Unlock()
		if got != want {
			return status.Errorf(codes.Unauthenticated, "the key %q is not mine", got)
		}
		return next(srv, stream)
	}
	v.addr = reflecttest.Serve(t, set, func(ctx context.Context, _ protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
		v.mu.Lock()
		v.seen, _ = metadata.FromIncomingContext(ctx)
		v.mu.Unlock()
		return send(in)
	}, reflecttest.Options{Server: []grpc.ServerOption{grpc.StreamInterceptor(guard)}}).Addr
	return v
}

// wants changes the key.
func (v *vault) wants(key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.key = key
}

// forget forgets the last call.
func (v *vault) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = nil
}

// saw is what the last call had under a key.
func (v *vault) saw(key string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Join(v.seen.Get(key), "|")
}

// sending adds headers, names and values, to every request.
type sending struct {
	http.RoundTripper
	headers []string
}

func (s *sending) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for i := 0; i+1 < len(s.headers); i += 2 {
		r.Header.Set(s.headers[i], s.headers[i+1])
	}
	return s.RoundTripper.RoundTrip(r)
}

// TestMetadata: a service that wants a key, a tenant and who is calling in metadata is served without knowing of MCP, in both eras: what does not
// depend on the caller also comes with reflection, a caller without what is to be told is refused, and nobody sends a key that is set.
func TestMetadata(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	v := serveVault(t, "first")
	file := filepath.Join(t.TempDir(), "key")
	write := func(key string) {
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	e := startEdge(t, []config.Backend{{
		Name: "vault", Target: v.addr, Kind: config.KindReflect,
		Metadata: map[string]config.MetadataValue{
			"x-api-key": {File: file}, "x-env": {Value: "test"}, "x-tenant": {From: "principal.claims.tenant"}, "x-user": {From: "principal.subject"},
			"x-scopes": {From: "principal.scopes"},
		},
		ForwardHeaders: config.Names{"X-Request-Id", "x-absent"},
	}}, withAuth(id))
	const arguments = `{"name":"north"}`
	alice := id.Token("alice", public, map[string]any{"tenant": "acme"})
	call := func(token string, headers ...string) map[string]*reply {
		c, s := statelessAs(t, e, token), sessionAs(t, e, vNov, token)
		for _, of := range []*caller{c.caller, s.caller} {
			of.http.Transport = &sending{of.http.Transport, headers}
		}
		return map[string]*reply{v2026: c.call("vault_open", arguments), vNov: s.call("vault_open", arguments)}
	}
	for version, r := range call(alice, "X-Request-Id", "r-1", "X-Tenant", "other", "X-Api-Key", "mine") {
		if got := dig(r.want(http.StatusOK).final().result(t), "structuredContent", "name"); got != "north" {
			t.Errorf("%s: the call gave %v", version, got)
		}
		for key, want := range map[string]string{
			"x-api-key": "first", "x-env": "test", "x-tenant": "acme", "x-user": "alice", "x-scopes": "mcp:read mcp:write", "x-request-id": "r-1",
			"x-absent": "", "authorization": "",
		} {
			if got := v.saw(key); got != want {
				t.Errorf("%s: the service saw %s: %q, want %q", version, key, got, want)
			}
		}
	}
	v.forget()
	for what, claims := range map[string]map[string]any{
		"no tenant": {}, "an empty one": {"tenant": ""}, "a list": {"tenant": []string{"acme"}}, "null": {"tenant": nil}, "an object": {"tenant": map[string]any{"id": "acme"}},
		"one beyond ASCII": {"tenant": "Zürich"}, "a line break": {"tenant": "acme\r\nx-user: root"}, "a space before it": {"tenant": " acme"},
		"a claim of another name": {"tenant.id": "acme", "Tenant": "acme"},
	} {
		for version, r := range call(id.Token("bob", public, claims)) {
			if m := r.final(); m.Error == nil || !strings.Contains(m.Error.Message, `the backend "vault" requires principal.claims.tenant, which `) {
				t.Errorf("%s with %s: %s", version, what, m.raw)
			}
		}
	}
	if v.saw("x-user") != "" {
		t.Error("the service was called for a caller who was refused")
	}
	c := newCaller(t, e.URL)
	c.as(id.Token("bob", public, map[string]any{"tenant": strings.Repeat("x", 100<<10)}))
	if r := c.send(t, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.status < 400 || r.status >= 500 {
		t.Errorf("a claim of 100 KiB is answered with %d", r.status)
	}
	for want, tenant := range map[string]any{"7": 7, "true": true, "0.5": 0.5} {
		for version, r := range call(id.Token("bob", public, map[string]any{"tenant": tenant})) {
			if r.final(); v.saw("x-tenant") != want {
				t.Errorf("%s: the service saw the tenant %q, want %s", version, v.saw("x-tenant"), want)
			}
		}
	}
	v.wants("second")
	write("second")
	await.Until(t, "the new key to be sent", func() bool {
		return statelessAs(t, e, alice).call("vault_open", arguments).final().Error == nil && v.saw("x-api-key") == "second"
	})
}

// TestIdentityOfServicesAsTheyAre: a service of kind reflect is shown who is calling as one of the contract is: by a signed identity, or by a token of its
// own.
func TestIdentityOfServicesAsTheyAre(t *testing.T) {
	id := issuer.Serve(t)
	signed, exchanged := serveVault(t, ""), serveVault(t, "")
	e := startEdge(t, []config.Backend{
		{Name: "signed", Target: signed.addr, Kind: config.KindReflect, Prefix: "s_", Identity: config.IdentitySigned},
		{Name: "exchanged", Target: exchanged.addr, Kind: config.KindReflect, Prefix: "e_", Identity: config.IdentityExchange},
	}, withAuth(id), withExchange(t), func(c *config.Config) { c.Server.SigningKey = signingKey(t, filepath.Join(t.TempDir(), "key.pem")) })
	alice := id.Token("alice", public)
	for version, call := range map[string]func(tool, arguments string) *reply{
		v2026: func(tool, arguments string) *reply { return statelessAs(t, e, alice).call(tool, arguments) }, vNov: sessionAs(t, e, vNov, alice).call,
	} {
		call("s_vault_open", `{}`).want(http.StatusOK)
		if got := signed.saw("mcp-identity"); strings.Count(got, ".") != 2 || signed.saw("authorization") != "" {
			t.Errorf("%s: the service saw the identity %q, authorization %q", version, got, signed.saw("authorization"))
		}
		call("e_vault_open", `{}`).want(http.StatusOK)
		if got := exchanged.saw("authorization"); !strings.HasPrefix(got, "Bearer ") || strings.Contains(got, alice) {
			t.Errorf("%s: the service saw authorization %q", version, got)
		}
	}
}

// TestMetadataOfTheContract: backends of the contract are told in metadata as services of kind reflect are.
func TestMetadataOfTheContract(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, w := issuer.Serve(t), &witness{}
	s := capability.New("witness", "1", w.option())
	addWhoami(s)
	backend := startService(t, s).Backend()
	backend.Metadata = map[string]config.MetadataValue{"x-env": {Value: "test"}, "x-user": {From: "principal.subject"}}
	e := startEdge(t, []config.Backend{backend}, withAuth(id))
	alice := id.Token("alice", public)
	statelessAs(t, e, alice).call("whoami", "").text()
	sessionAs(t, e, vNov, alice).call("whoami", "").want(http.StatusOK)
	for key, want := range map[string]string{"x-env": "test test", "x-user": "alice alice"} {
		if got := strings.Join(w.all(key), " "); got != want {
			t.Errorf("the backend saw %s: %q, want %q", key, got, want)
		}
	}
}

// every is the values of a key of each call, those of one call with "|" between them.
func (w *witness) every(key string) (values []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, md := range w.seen {
		values = append(values, strings.Join(md.Get(key), "|"))
	}
	return values
}

// tenanted is a backend that is told of the caller and of its requests in metadata.
func tenanted(addr string) config.Backend {
	return config.Backend{
		Name: "told", Target: addr, ForwardHeaders: config.Names{"x-request-id"},
		Metadata: map[string]config.MetadataValue{"x-tenant": {From: "principal.claims.tenant"}},
	}
}

// TestMetadataOfLaterRounds: each round of a call is told of the caller, also of a call that became a task, and the headers of its own request: a round
// without one has none.
func TestMetadataOfLaterRounds(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, w := issuer.Serve(t), &witness{}
	s := capability.New("told", "1", w.option())
	addWhoami(s)
	capability.AddTool(s, "later", "Asks for a name later", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		who, err := capability.Ask[person](c, "name", "Your name?")
		return who.Name, err
	}, capability.Tasks(capability.TaskOptional))
	e := startEdge(t, []config.Backend{tenanted(startService(t, s).Addr)}, withAuth(id))
	alice := id.Token("alice", public, map[string]any{"tenant": "acme"})
	named := func(c *caller, as string) {
		c.http.Transport = &sending{c.http.Transport, []string{"X-Request-Id", as}}
	}
	saw := func(what string, tenants, requests []string) {
		t.Helper()
		if got, ids := w.every("x-tenant"), w.every("x-request-id"); !slices.Equal(got, tenants) || !slices.Equal(ids, requests) {
			t.Errorf("%s: the rounds saw %q of %q, want %q of %q", what, got, ids, tenants, requests)
		}
		w.mu.Lock()
		w.seen = nil
		w.mu.Unlock()
	}
	twice := []string{"acme", "acme"}

	c := statelessAs(t, e, alice)
	named(c.caller, "r")
	c.askedWho("")
	saw("without a session", twice, []string{"r", "r"})
	in := sessionAs(t, e, vNov, alice)
	named(in.caller, "s")
	in.askedWho("", in)
	saw("in a session", twice, []string{"s", ""})
	made := in.request("tools/call", `{"name":"later","arguments":{},"task":{}}`).want(http.StatusOK).result()
	task, _ := dig(made, "task", "taskId").(string)
	stream := in.request("tasks/result", `{"taskId":"`+task+`"}`).events()
	in.answer(stream.awaitMethod("elicitation/create"), answers["elicitation/create"])
	stream.response().result(t)
	saw("as a task", twice, []string{"s", ""})
}

// TestMetadataAfterATakeover: a call that another replica runs again is told of the caller as the first time, and no header of its request.
func TestMetadataAfterATakeover(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, w, server := issuer.Serve(t), &witness{}, redisserver.ForTest(t)
	s := capability.New("told", "1", w.option())
	began := make(chan struct{}, 2)
	capability.AddTool(s, "again", "Waits, the first time", func(ctx context.Context, c *capability.Call, _ struct{}) (string, error) {
		c.Progress(1, 2, "begun")
		began <- struct{}{}
		if w.calls() > 1 {
			return "done", nil
		}
		<-ctx.Done()
		return "", ctx.Err()
	}, capability.Idempotent())
	backends := []config.Backend{tenanted(startService(t, s).Addr)}
	var edges []*harness.Edge
	for range 2 {
		edges = append(edges, startEdge(t, backends, withAuth(id), func(c *config.Config) {
			c.Redis.URL, c.Redis.Lease, c.Calls.StreamAfter, c.Shutdown.Grace = server.URL(), time.Second, 10*time.Millisecond, 500*time.Millisecond
		}))
	}
	alice := id.Token("alice", public, map[string]any{"tenant": "acme"})
	first := sessionAs(t, edges[0], vNov, alice)
	first.http.Transport = &sending{first.http.Transport, []string{"X-Request-Id", "s"}}
	stream := first.callWithProgress("again", "", "p").events()
	await.Receive(t, "the first run", began)
	stream.awaitMethod("notifications/progress")
	edges[0].Stop()
	_ = edges[0].Wait(t) // that the call was cut off
	m := first.seenBy(edges[1], alice).get(stream.lastID).want(http.StatusOK).events().response()
	if got := text(t, m.result(t)); got != "done" {
		t.Errorf("it ended with %q", got)
	}
	if got, ids := w.every("x-tenant"), w.every("x-request-id"); !slices.Equal(got, []string{"acme", "acme"}) || !slices.Equal(ids, []string{"s", ""}) {
		t.Errorf("the runs saw %q of %q", got, ids)
	}
}

// TestMetadataOfAnonymousCallers: who has not said who it is, where that is optional, is asked to.
func TestMetadataOfAnonymousCallers(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	v := serveVault(t, "")
	backend := tenanted(v.addr)
	backend.Kind = config.KindReflect
	e := startEdge(t, []config.Backend{backend}, withAuth(id), func(c *config.Config) { c.Auth.Optional = true })
	for version, r := range map[string]*reply{v2026: newStateless(t, e.URL).call("vault_open", `{}`), vNov: newSession(t, e.URL, vNov).call("vault_open", `{}`)} {
		m := r.want(http.StatusUnauthorized).final()
		if m.Error == nil || m.Error.Code != -31401 || !strings.Contains(m.Error.Message, "principal.claims.tenant") || r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %s, %v", version, m.raw, r.header)
		}
	}
	if v.seen != nil {
		t.Error("the service was called")
	}
}

// TestMetadataOfServices: what is found in Kubernetes is told what the settings say of all that is.
func TestMetadataOfServices(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, cluster, v := issuer.Serve(t), apiserver.Start(t), serveVault(t, "")
	cluster.Put(labelled("vault", "kind=reflect"))
	cluster.Put(podAt(t, "vault", v.addr))
	cfg := harness.Config()
	withAuth(id)(&cfg)
	cfg.Kubernetes = &config.Kubernetes{
		Namespaces: []string{"team"}, Reflect: true, ForwardHeaders: config.Names{"x-request-id"},
		Metadata: map[string]config.MetadataValue{"x-env": {Value: "test"}, "x-tenant": {From: "principal.claims.tenant"}},
	}
	e := harness.Begin(t, cfg, app.WithCluster(cluster.Config()))
	e.AwaitServing(t)
	alice := sessionAs(t, e, vNov, id.Token("alice", public, map[string]any{"tenant": "acme"}))
	alice.http.Transport = &sending{alice.http.Transport, []string{"X-Request-Id", "r"}}
	awaitTool(t, alice, "team_vault_open")
	alice.call("team_vault_open", `{}`).result()
	for key, want := range map[string]string{"x-env": "test", "x-tenant": "acme", "x-request-id": "r"} {
		if got := v.saw(key); got != want {
			t.Errorf("the service saw %s: %q, want %q", key, got, want)
		}
	}
	if m := sessionAs(t, e, vNov, id.Token("bob", public)).call("team_vault_open", `{}`).final(); m.Error == nil || m.Error.Code != -31403 {
		t.Errorf("without a tenant: %s", m.raw)
	}
}
