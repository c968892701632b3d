//go:build access

package access

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// client is one that people use. It has its user log in whenever it finds that necessary.
type client interface {
	// connect connects it to the edge.
	connect(ctx context.Context) error
	// list is the names of the tools.
	list(ctx context.Context) ([]string, error)
	// call is the text of a tool's result.
	call(ctx context.Context, tool string) (string, error)
	// close ends it.
	close() error
}

// login has the user log in by a link that a client has made, and returns what comes back to the client.
type login func(ctx context.Context, link string) (url.Values, error)

// server is an authorization server for one client and one edge.
type server interface {
	// settings are what an edge is told about it.
	settings() config.Issuer
	// shortenTokens makes new tokens expire after lifetime.
	shortenTokens(t *testing.T)
	// revoke ends what the user has granted: no token can be refreshed any more.
	revoke(t *testing.T)
}

// servers are those that are tried; a name tells the clients' apart.
var servers = map[string]func(t *testing.T, name, edge string, log *transcript) server{
	"keycloak": atKeycloak, "oidc-provider": atProvider,
}

// lifetime of tokens that are to expire soon.
const lifetime = 15 * time.Second

// skew is for clients that refresh a token once it has expired by their clock, and have their user log in again if the edge refuses
// it before, as Python's SDK does.
var skew = 3 * time.Second

// expires bounds the wait for that, and for whatever else comes of a wait.
const expires = 90 * time.Second

// every is how often a client calls that waits for its token to expire.
const every = 200 * time.Millisecond

// TestClients: clients that know nothing but the edge's URL, and maybe an id, list, call, get a further scope, refresh and are
// refused in the end, each at every authorization server; and what went over HTTP is what the transcript says.
func TestClients(t *testing.T) {
	for _, kind := range []struct {
		name string
		make func(t *testing.T, edge, redirect, id string, login login) client
		// id is that of a client that the server knows; empty: it registers itself. Some SDKs register with the scopes of the first
		// challenge, and servers then give the client no others.
		id string
	}{
		{"go", newGoClient, ""},
		{"typescript-v1", newProgram("node", "clients/typescript-v1.mjs"), "mcp-client"},
		{"typescript-v2", newProgram("node", "clients/typescript-v2.mjs"), "mcp-client"},
		{"python", newProgram("env", "PYTHONPATH="+pythonPackages, "python3", "clients/python.py"), "mcp-client"},
		{"inspector", newInspector, "mcp-client"},
	} {
		for name, at := range servers {
			t.Run(kind.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				log := &transcript{}
				address, err := freeport.Addr()
				if err != nil {
					t.Fatal(err)
				}
				edge := log.proxy(t, "http://"+address, toEdge)
				log.name(edge, "http://EDGE")
				s := at(t, kind.name, edge, log)
				serve(t, address, edge, s.settings(), "mcp:read")
				await.Until(t, "the edge has read the metadata", func() bool { return log.has("SERVER", "/.well-known/", ": 200") })
				log.clear()
				u := newUser(t, "alice")
				switch kind.name {
				case "go":
					uses(t, "chromium")
					u.withChromium(t)
				case "inspector":
					uses(t, "node", "npm")
					need(t, npmPackages)
					u.sentTo(t, "/callback")
				case "python":
					uses(t, "python3")
					need(t, pipPackages)
				default:
					uses(t, "node", "npm")
					need(t, npmPackages)
				}
				log.name(u.redirect, "http://CLIENT/callback")
				defer compare(t, log, filepath.Join("testdata", kind.name+"-"+name+".txt"))
				until := polls
				if kind.name == "inspector" {
					until = func() bool { return log.refused(t.Context(), "http://"+address) }
				}
				play(t, log, kind.make(t, edge+"/mcp", u.redirect, kind.id, log.login(u)), s, until)
			})
		}
	}
}

// fixture is a backend with a tool that says what the caller may do, and one that takes a further scope.
func fixture(t *testing.T) config.Backend {
	t.Helper()
	s := capability.New("fixture", "1.0.0")
	say := func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		scopes := slices.DeleteFunc(slices.Clone(c.Principal().GetScopes()), func(s string) bool { return s == "offline_access" })
		slices.Sort(scopes)
		return strings.Join(scopes, " "), nil
	}
	capability.AddTool(s, "look", "Says what the caller may do", say)
	capability.AddTool(s, "change", "Says what the caller may do, which is more", say)
	return harness.Serve(t, "fixture", s).Backend()
}

// serve runs an edge behind the URL public, which has clients ask for the initial scopes first.
func serve(t *testing.T, address, public string, id config.Issuer, initial ...string) {
	t.Helper()
	cfg := harness.Config(fixture(t))
	cfg.Listen.Address, cfg.Listen.PublicURL = address, public
	id.Skew = &skew
	cfg.Auth = &config.Auth{
		Issuers:  []config.Issuer{id},
		Metadata: config.AuthMetadata{ScopesSupported: []string{"mcp:read", "mcp:write"}, InitialScopes: initial},
	}
	cfg.Policy = &config.Policy{Scopes: []config.PolicyScopes{{Tools: []string{"change"}, Need: []string{"mcp:write"}}, {Need: []string{"mcp:read"}}}}
	harness.Start(t, cfg)
}

// polls is for clients that call in a session of theirs, be their token good or not.
func polls() bool { return true }

// play has a client do all that the test is about. It does not call with a token that is about to expire until mayCall says so:
// what a client that begins anew for each call does then depends on when in its life that happens.
func play(t *testing.T, log *transcript, c client, s server, mayCall func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*expires)
	defer cancel()
	defer func() {
		if err := c.close(); err != nil {
			t.Log(err)
		}
	}()
	log.heading("log in", false)
	if err := c.connect(ctx); err != nil {
		t.Fatal(err)
	}
	log.heading("list", false)
	tools, err := c.list(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(tools); !slices.Equal(tools, []string{"change", "look"}) {
		t.Errorf("tools %q", tools)
	}
	call := func(tool, want string) {
		t.Helper()
		got, err := c.call(ctx, tool)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		if got != want {
			t.Errorf("%s says %q, want %q", tool, got, want)
		}
	}
	log.heading("call", false)
	call("look", "mcp:read")
	s.shortenTokens(t)
	log.heading("call what takes a further scope", false)
	call("change", "mcp:read mcp:write")
	log.heading("call until the token was refreshed", true)
	awaitCall(t, "the token is refreshed", func() bool {
		if !mayCall() {
			return false
		}
		call("look", "mcp:read mcp:write")
		return t.Failed() || log.has("SERVER  token", "refresh_token", ": 200")
	})
	s.revoke(t)
	log.heading("call until that is refused", true)
	log.decline()
	awaitCall(t, "the call is refused", func() bool {
		if !mayCall() {
			return false
		}
		_, err := c.call(ctx, "look")
		return err != nil
	})
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
}

func awaitCall(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for end := time.Now().Add(expires); !done(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", expires, what)
		}
	}
}

// compare holds a transcript against the file, or writes it.
func compare(t *testing.T, log *transcript, file string) {
	t.Helper()
	if t.Failed() {
		t.Logf("so far:\n%s", log)
		return
	}
	got := log.String()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s is not what was said (-file +said):\n%s", file, diff)
	}
}
