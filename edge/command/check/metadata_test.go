package check

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// mcpedge check makes its calls as the caller of --claims. The backend gets the caller in metadata
// and in the Principal. If the caller or a claim is missing, calls have no metadata of it, and
// check notes that once.
func TestCheckTellsOfTheCaller(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s := capability.New("crm", "1", capability.WithServerOptions(grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if md, _ := metadata.FromIncomingContext(s.Context()); strings.HasSuffix(info.FullMethod, "CallTool") {
			mu.Lock()
			seen = append(seen, strings.Join(md.Get("x-env"), "|")+" "+strings.Join(md.Get("x-tenant"), "|"))
			mu.Unlock()
		}
		return next(srv, s)
	})))
	capability.AddTool(s, "whose", "Says whose it is", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		tenant, _ := c.Claim("tenant")
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, c.Principal().GetSubject()+" of "+tenant)
		return tenant, nil
	}, capability.ReadOnly())
	file := authority.File(t, filepath.Join(t.TempDir(), "edge.yaml"), []byte("auth: {issuers: [{issuer: 'https://id.example.com', jwks: keys.json}]}\n"+
		"backends: [{name: crm, target: '"+commandtest.Serve(t, s)+"', claims: [tenant], metadata: {x-env: {value: test}, x-tenant: {from: principal.claims.tenant}}}]"))
	authority.File(t, filepath.Join(filepath.Dir(file), "keys.json"), []byte(`{"keys":[]}`))
	for claims, want := range map[string]struct{ tool, call, note string }{
		`{"iss":"https://id.example.com","sub":"ann","tenant":"acme"}`:   {"ann of acme", "test acme", ""},
		`{"iss":"https://id.example.com","sub":"ann","tenant":"Zürich"}`: {"ann of Zürich", "test ", "characters other than"},
		"": {" of ", "test ", "no such key: tenant"},
	} {
		seen = nil
		args := []string{"--config", file}
		if claims != "" {
			args = append(args, "--claims", claims)
		}
		var out strings.Builder
		_ = Run(t.Context(), args, &out, &out) // the error is expected: no key verifies tokens
		if all := strings.Join(seen, ", "); !strings.Contains(all, want.tool) || !strings.Contains(all, want.call) || strings.Contains(all, "acme") != strings.Contains(claims, "acme") {
			t.Errorf("%s: the backend saw %s", claims, all)
		}
		if n := strings.Count(out.String(), "have no metadata of the caller"); (n == 1) != (want.note != "") || n > 1 || !strings.Contains(out.String(), want.note) {
			t.Errorf("%s: noted %d times\n%s", claims, n, &out)
		}
	}
	for claims, want := range map[string]string{"absent": "check: --claims: open absent", "[]": "check: --claims: open []", `{"iss":1`: "check: --claims: the JSON given is not a JSON object", `{"sub":7}`: "check: --claims: "} {
		if err := Run(t.Context(), []string{"--config", file, "--claims", claims}, &strings.Builder{}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--claims %s: %v", claims, err)
		}
	}
}
