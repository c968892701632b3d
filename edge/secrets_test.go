package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestLogsHaveNoSecrets checks that the log has no secret of the settings, of their files or of
// requests, at any level. It covers an unreachable Redis, a failing issuer, an unreachable backend,
// settings that are read again, and refused callers.
func TestLogsHaveNoSecrets(t *testing.T) {
	dir := t.TempDir()
	var secrets []string
	secret := func() string {
		s := "s3cret" + rand.Text()
		secrets = append(secrets, s)
		return s
	}
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, "no", http.StatusInternalServerError)
	}))
	t.Cleanup(issuer.Close)
	key, sealing := secret(), make([]byte, 32)
	_, _ = rand.Read(sealing)
	seal := base64.StdEncoding.EncodeToString(sealing)
	secrets = append(secrets, seal)
	write("keys.yaml", fmt.Sprintf("- {name: ci, sha256: %x}\n", sha256.Sum256([]byte(key))))
	write("client.txt", secret())
	settings := "demo: true\nlog: {format: json, level: debug}\nadmin: {address: '127.0.0.1:0'}\nredis: {seal-keys: ['" + seal + "']}\nlisten: {public-url: https://mcp.example, address: '127.0.0.1:0'}\n" +
		"backends: [{name: gone, target: '127.0.0.1:1'}]\npolicy: {default: allow}\nauth:\n  api-keys: keys.yaml\n  issuers:\n  - issuer: " + issuer.URL +
		"\n    jwks: " + issuer.URL + "/keys\n    introspection: {url: '" + issuer.URL + "/introspect', client-id: edge, client-secret-file: client.txt}\n"

	t.Run("without Redis", func(t *testing.T) {
		file := write("redis.yaml", strings.Replace(settings, "redis: {", "redis: {url: 'redis://user:"+secret()+"@127.0.0.1:1', ", 1))
		log, stop := started(t, file)
		await.Until(t, "the log to say that Redis is away", func() bool { return strings.Contains(log(), "127.0.0.1:1") && strings.Contains(log(), "state") })
		stop()
		hasNone(t, log(), secrets)
	})
	t.Run("serving", func(t *testing.T) {
		file := write("edge.yaml", settings)
		log, stop := started(t, file)
		var endpoint string
		await.Until(t, "it to serve", func() bool {
			for line := range strings.Lines(log()) {
				var entry struct{ Msg, Endpoint string }
				if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
					endpoint = entry.Endpoint
				}
			}
			return endpoint != ""
		})
		for _, credential := range []string{"Bearer " + key, "Bearer " + secret(), "Basic " + secret(), "DPoP " + secret(), "Bearer eyJhbGciOiJSUzI1NiJ9." + secret() + ".AAAA"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint+"?access_token="+secret(), strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", credential)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
		}
		write("edge.yaml", strings.Replace(settings, "redis: {", "redis: {url: 'redis://user:"+secret()+"@127.0.0.1:1', ", 1))
		await.Until(t, "the warning about the change", func() bool { return strings.Contains(log(), "restart the edge to put it in force") })
		write("edge.yaml", strings.Replace(settings, "redis: {", "redis: {url: ['redis://user:"+secret()+"@127.0.0.1:1', ", 1))
		await.Until(t, "the mistake to be logged", func() bool { return strings.Contains(log(), "cannot be used") })
		stop()
		hasNone(t, log(), secrets)
	})
}

func hasNone(t *testing.T, log string, secrets []string) {
	t.Helper()
	for line := range strings.Lines(log) {
		for _, s := range secrets {
			if strings.Contains(line, s) {
				t.Errorf("the log has the secret %s: %s", s, line)
			}
		}
	}
	if strings.Count(log, "\n") < 3 {
		t.Errorf("the log has no more than\n%s", log)
	}
}
