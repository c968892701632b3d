package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
	"github.com/mcpedge/mcpedge/tests/helpers/apiserver"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// write writes a file below a folder of the test.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The token is read again for each request: those of pods are exchanged every hour.
func TestTokens(t *testing.T) {
	server := apiserver.StartTLS(t)
	server.Put(service("tea"))
	c := server.Config()
	c.TokenFile = filepath.Join(t.TempDir(), "token")
	write(t, c.TokenFile, "one\n")
	f := follow(t, c)
	await.Until(t, "the watch", func() bool { return server.Asked("watch", servicesPath) == 1 })
	write(t, c.TokenFile, "two\n")
	server.EndWatches()
	await.Until(t, "the next watch", func() bool { return server.Asked("watch", servicesPath) == 2 })
	if r := server.Requests(); r[0].Token != "one" || r[1].Token != "one" || r[2].Token != "two" {
		t.Errorf("the requests are %+v", r)
	}
	f.calm(t)
}

// The CA is read again for each request, and a server that it does not verify gets no request.
func TestCAs(t *testing.T) {
	server := apiserver.StartTLS(t)
	c := server.Config()
	right, err := os.ReadFile(c.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, c.CAFile, string(authority.Bundle(authority.New(t, "another"))))
	f := follow(t, c)
	if err := await.Receive(t, "an error", f.errors); !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the error is %q", err)
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("a server that is not verified got %d requests", n)
	}
	write(t, c.CAFile, string(right))
	await.Receive(t, "the list", f.Synced())
}

// Files that cannot be used are named.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	write(t, empty, "")
	for want, c := range map[string]api.Config{
		"the CA of the API server: open " + filepath.Join(dir, "none"):      {URL: "https://127.0.0.1", CAFile: filepath.Join(dir, "none")},
		"the CA of the API server: " + empty + " has no certificate in PEM": {URL: "https://127.0.0.1", CAFile: empty},
	} {
		if _, err := api.NewClient(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	server := apiserver.Start(t)
	c := server.Config()
	c.TokenFile = filepath.Join(dir, "none")
	if err := await.Receive(t, "an error", follow(t, c).errors); !strings.Contains(err.Error(), "the token of the service account: open ") {
		t.Errorf("the error is %q", err)
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests without a token", n)
	}
}

func TestInCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := api.InCluster(); err == nil || !strings.Contains(err.Error(), "are not set: run the edge in a pod") {
		t.Errorf("outside of a pod: %v", err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, err := api.InCluster(); err == nil || !strings.Contains(err.Error(), "set automountServiceAccountToken for the pod") {
		t.Errorf("without a token: %v", err)
	}
}
