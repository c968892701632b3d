package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
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

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/identity"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// signingKey writes a new key into a file.
func signingKey(t *testing.T, path string) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// freeAddr is an address of loopback where nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// witness notes the metadata of the calls that a backend gets.
type witness struct {
	mu   sync.Mutex
	seen []metadata.MD
	// refused is the access token that calls are refused with; empty: none is.
	refused string
}

// refuse has calls with an access token end with UNAUTHENTICATED.
func (w *witness) refuse(token string) {
	w.mu.Lock()
	w.refused = token
	w.mu.Unlock()
}

func (w *witness) option() capability.Option {
	return capability.WithServerOptions(grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if strings.HasSuffix(info.FullMethod, "CallTool") {
			md, _ := metadata.FromIncomingContext(s.Context())
			w.mu.Lock()
			w.seen = append(w.seen, md)
			refused := w.refused != "" && slices.Contains(md.Get("authorization"), "Bearer "+w.refused)
			w.mu.Unlock()
			if refused {
				return status.Error(codes.Unauthenticated, "the token is not accepted")
			}
		}
		return next(srv, s)
	}))
}

// calls is how many there were.
func (w *witness) calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// all are the values of a key, in the order of the calls.
func (w *witness) all(key string) (values []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, md := range w.seen {
		values = append(values, md.Get(key)...)
	}
	return values
}

// TestSignedIdentity: a backend that wants a proof knows the caller by the edge's signature, in every era, in later rounds,
// over the admin address and where there is no authentication; keys are rotated under way and no call is refused.
func TestSignedIdentity(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	admin := freeAddr(t)
	plain, seen := &witness{}, &witness{}
	guarded := capability.New("crm", "1.0.0", seen.option(), capability.RequireIdentity("http://"+admin+"/.well-known/jwks.json", "crm"))
	addWhoami(guarded)
	key := signingKey(t, filepath.Join(t.TempDir(), "identity.pem"))
	other := capability.New("other", "1.0.0", plain.option())
	addWhoami(other)
	e := startEdge(t, []config.Backend{
		{Name: "crm", Target: startService(t, guarded).Addr, Prefix: "crm_", Identity: config.IdentitySigned, Claims: config.Names{"tenant"}},
		{Name: "other", Target: startService(t, other).Addr, Prefix: "other_"},
	}, withAuth(id), func(c *config.Config) {
		c.Admin.Address, c.Server.SigningKey, c.Auth.Optional = admin, key, true
	})
	token := id.Token("alice", public, map[string]any{"roles": []string{"admin"}, "tenant": "acme", "act": map[string]string{"sub": "agent"}})
	want := "alice " + id.URL + " [mcp:read mcp:write] [admin] a-client agent acme"
	c, in := statelessAs(t, e, token), sessionAs(t, e, vNov, token)
	for name, got := range map[string]string{
		"without a session":           c.call("crm_whoami", "").text(),
		"in a session":                in.call("crm_whoami", "").text(),
		"without a session, answered": c.askedWho("crm_"),
		"in a session, answered":      in.askedWho("crm_", in),
	} {
		if got != want+" 1" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := newStateless(t, e.URL).call("crm_whoami", "").text(); got != "  [] []    0" {
		t.Errorf("an anonymous caller: %q", got)
	}
	if got := statelessAs(t, e, token).call("other_whoami", "").text(); got != strings.TrimSuffix(want, "acme")+" 0" {
		t.Errorf("another backend: %q", got)
	}
	if got := plain.all(identity.Metadata); len(got) > 0 || plain.calls() != 1 {
		t.Errorf("a backend that was told by its principal alone has %d identities of %d calls", len(got), plain.calls())
	}

	// Two keys later, under calls.
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		c := statelessAs(t, e, token)
		calls := time.NewTicker(5 * time.Millisecond)
		defer calls.Stop()
		for {
			select {
			case <-stop:
				done <- nil
				return
			case <-calls.C:
			}
			if got := c.call("crm_whoami", "").text(); got != want+" 1" {
				done <- fmt.Errorf("while keys are rotated: %q", got)
				return
			}
		}
	}()
	keys := newCaller(t, "http://"+admin+"/.well-known/jwks.json")
	told := func() string { return string(keys.send(t, "GET", "", "Accept", "").want(200).body) }
	for range 2 {
		before := told()
		signingKey(t, key)
		await.Until(t, "another key", func() bool { return told() != before })
		last := seen.all(identity.Metadata)
		head := func(token string) string { h, _, _ := strings.Cut(token, "."); return h }
		await.Until(t, "another signature", func() bool {
			now := seen.all(identity.Metadata)
			return head(now[len(now)-1]) != head(last[len(last)-1])
		})
	}
	close(stop)
	if err := await.Receive(t, "the last call", done); err != nil {
		t.Error(err)
	}
	for _, text := range append(seen.all(identity.Metadata), token) {
		if log := e.Log.String(); strings.Contains(log, text) {
			t.Fatalf("the log has %s", text)
		}
	}
}
