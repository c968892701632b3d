package check

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
)

// check makes its calls as the caller of --claims or --api-key. If an anonymous caller has no value
// for a pinned argument, it suggests these flags.
func TestCheckAsACaller(t *testing.T) {
	dir := t.TempDir()
	backend := capability.New("crm", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	type in struct {
		Tenant string `json:"tenant"`
	}
	capability.AddTool(backend, "find", "", func(_ context.Context, _ *capability.Call, args in) (string, error) { return args.Tenant, nil }, capability.ReadOnly())
	for name, text := range map[string]string{
		"edge.yaml": "backends: [{name: crm, target: '" + commandtest.Serve(t, backend) + "'}]\nauth: {api-keys: keys.yaml}\n" +
			"catalog: {tools: [{backend: crm, tool: find, arguments: {tenant: {from: principal.claims.tenant}}}]}\n",
		"keys.yaml": "- {name: ann, sha256: 5189ab43e0f0e12095311b9aa9c1e69e624f760ea8d8bc3ed2d105f87642ee43, claims: {tenant: acme}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "the caller is anonymous: --claims has the claims of another one, --api-key the name of its key"},
		{[]string{"--api-key", "ann"}, `ok      CallTool "find"`},
		{[]string{"--claims", `{"sub":"a","tenant":"acme"}`}, `ok      CallTool "find"`},
	} {
		var out strings.Builder
		if err := Run(t.Context(), append(c.args, "--config", filepath.Join(dir, "edge.yaml")), &out, &out); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: %v: %q is missing in\n%s", c.args, err, c.want, &out)
		}
	}
	var out strings.Builder
	if err := Run(t.Context(), []string{"--api-key", "an", "--config", filepath.Join(dir, "edge.yaml")}, &out, &out); err == nil || !strings.Contains(err.Error(), `did you mean "ann"?`) {
		t.Error(err)
	}
}
