package check

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
	"github.com/mcpedge/mcpedge/edge/identity"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// mcpedge check signs its calls for a backend with an identity, and reports an unusable key.
func TestCheckSigns(t *testing.T) {
	dir := t.TempDir()
	key := authority.File(t, filepath.Join(dir, "identity.pem"), authority.New(t, "ca").Server(t).Key)
	keys, err := identity.Open(func() ([]byte, error) { return os.ReadFile(key) }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	keyServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(keys.JWKS()) }))
	t.Cleanup(keyServer.Close)
	s := capability.New("crm", "1", capability.RequireIdentity(keyServer.URL, "crm"), capability.WithLogger(slog.New(slog.DiscardHandler)))
	capability.AddTool(s, "look", "Looks", func(context.Context, *capability.Call, struct{}) (string, error) { return "seen", nil }, capability.ReadOnly())
	capability.AddPrompt(s, &capability.Prompt{Name: "greet", Arguments: []*capability.PromptArgument{{Name: "x"}}},
		func(context.Context, *capability.Call, map[string]string) (string, error) { return "hello", nil }, capability.Suggest("x", "a"))
	capability.AddResource(s, &capability.Resource{Uri: "a://b", Name: "b"}, func(context.Context, *capability.Call, string) (string, error) { return "text", nil })
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "t://{id}", Name: "t"},
		func(context.Context, *capability.Call, string, map[string]string) (string, error) { return "text", nil }, capability.Suggest("id", "a"))
	addr := commandtest.Serve(t, s)
	run := func(settings string) (string, error) {
		var out strings.Builder
		err := Run(t.Context(), []string{"--config", authority.File(t, filepath.Join(dir, "edge.yaml"), []byte(settings))}, &out, &out)
		return out.String(), err
	}
	const backends = "backends: [{name: crm, target: '"
	out, err := run("server: {signing-key: " + key + "}\n" + backends + addr + "', identity: signed}]")
	if err != nil || strings.Contains(out, "status Unauthenticated") || !strings.Contains(out, "key id "+keys.ID()) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _ := run(backends + addr + "'}]"); !strings.Contains(out, "status Unauthenticated") {
		t.Errorf("the backend takes what is not signed:\n%s", out)
	}
	broken := authority.File(t, filepath.Join(dir, "broken.pem"), []byte("x"))
	if _, err := run("server: {signing-key: " + broken + "}\n" + backends + addr + "'}]"); err == nil || !strings.Contains(err.Error(), broken+": it contains no private key") {
		t.Errorf("a key that is none: %v", err)
	}
}
