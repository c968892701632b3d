package app

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// TestErrorsAtStartAreLocated: if a file or a backend prevents the start of an edge, the error has
// the line of its setting.
func TestErrorsAtStartAreLocated(t *testing.T) {
	const backend = "backends:\n- {name: one, target: 'h:1'}\n"
	for text, want := range map[string]string{
		backend + "auth:\n  api-keys: absent\n":                                                          ":4: auth.api-keys: ",
		backend + "auth:\n  issuers:\n  - issuer: https://h\n    jwks: absent\n":                         ":6: auth.issuers[0]: https://h: jwks: ",
		backend + "listen:\n  tls:\n    cert: absent\n    key: absent\n":                                 ":5: listen.tls.cert: ",
		backend + "admin:\n  tls:\n    cert: absent\n    key: absent\n":                                  ":5: admin.tls.cert: ",
		backend + "server: {signing-key: absent}\n":                                                      ":3: server.signing-key: ",
		backend + "audit:\n  file: absent/audit.jsonl\n":                                                 ":4: audit.file: ",
		backend + "audit:\n  file: a\n  arguments: digest\n  digest-key-file: absent\n":                  ":6: audit.digest-key-file: ",
		backend + "policy:\n  default: deny\n  external:\n    target: h:1\n    tls:\n      ca: absent\n": ":8: policy.external.tls.ca: ",
		"backends:\n- name: one\n  target: h:1\n  tls:\n    ca: absent\n":                                ":5: backends.one.tls.ca: ",
		"backends:\n- name: one\n  target: h:1\n  metadata:\n    x-key:\n      file: absent\n":           ":6: backends[0] one: metadata.x-key: file: ",
		"kubernetes:\n  namespaces: [a]\n  tls:\n    ca: absent\n":                                       ":4: kubernetes.tls.ca: ",
	} {
		file := filepath.Join(t.TempDir(), "edge.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load("serve", []string{"--config", file}, func(string) (string, bool) { return "", false }, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(cfg, slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(err.Error(), "config "+file+want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
}
