package config

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// load loads the settings of a command from a file and an environment.
func loadTLS(t *testing.T, command, yaml string, env map[string]string, args ...string) (Config, error) {
	t.Helper()
	if yaml != "" {
		file := filepath.Join(t.TempDir(), "edge.yaml")
		if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", file)
	}
	lookup := func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
	return Load(command, args, lookup, io.Discard)
}

// The file, the environment and the flags say of the listeners' TLS the same, the later winning.
func TestListenerTLS(t *testing.T) {
	cfg, err := loadTLS(t, serve, "listen: {tls: {cert: a, key: b, client-ca: /c}}\nadmin: {tls: {cert: /d, key: /e}}\n",
		map[string]string{"MCPEDGE_LISTEN_TLS_CERT": "env", "MCPEDGE_ADMIN_TLS_KEY": "env"}, "--tls-key", "flag")
	want := ListenerTLS{Cert: "env", Key: "flag", ClientCA: "/c", given: true}
	if err != nil || cfg.Listen.TLS != want || cfg.Admin.TLS != (ListenerTLS{Cert: "/d", Key: "env", given: true}) {
		t.Errorf("%+v, %+v, %v", cfg.Listen.TLS, cfg.Admin.TLS, err)
	}
	if cfg, err := loadTLS(t, Ready, "", map[string]string{"MCPEDGE_ADMIN_TLS_CERT": "a"}); err != nil || !cfg.Admin.TLS.Enabled() || cfg.AdminScheme() != "https" {
		t.Errorf("ready does not know of TLS: %+v, %v", cfg.Admin.TLS, err)
	}
	if cfg, err := loadTLS(t, check, "", map[string]string{"MCPEDGE_LISTEN_TLS_CERT": "a", "MCPEDGE_LISTEN_TLS_KEY": "b"}); err != nil || !cfg.Listen.TLS.Enabled() {
		t.Errorf("check does not know of TLS: %+v, %v", cfg.Listen.TLS, err)
	}
}

// A TLS section that would result in plain HTTP is an error, as is a misspelled key in it.
func TestHalfListenerTLS(t *testing.T) {
	for yaml, want := range map[string]string{
		"listen: {tls: {}}":                  "listen.tls: listen.tls.cert and listen.tls.key are missing: give the PEM files of the listener's certificate and its key, or take listen.tls out",
		"admin: {tls: {client-ca: c}}":       "admin.tls: admin.tls.cert and admin.tls.key are missing",
		"listen: {tls: {cert: a}}":           "listen.tls: listen.tls.cert and listen.tls.key go together: give both or none",
		"admin: {tls: {key: a}}":             "admin.tls: admin.tls.cert and admin.tls.key go together",
		"admin: {auth: {client-cert: true}}": "admin.auth.client-cert: there is no admin.tls.client-ca",
		"{admin: {auth: {client-cert: true}}, listen: {tls: {cert: a, key: b, client-ca: c}}}": "name the file of its CAs there, or take client-cert out",
		"{admin: {auth: {client-cert: true}, tls: {cert: a, key: b}}}":                         "there is no admin.tls.client-ca",
		"listen: {tls: {cert: a, key: b, ca: c}}":                                              "unknown field \"ca\"",
		"listen: {tls: {cert: a, key: [b]}}":                                                   "key",
	} {
		for _, command := range []string{serve, check} {
			if _, err := loadTLS(t, command, yaml, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v, want %q", command, yaml, err, want)
			}
		}
	}
	if _, err := loadTLS(t, serve, "listen:\n  tls:\n    cert: a\n    kye: b\n", nil); err == nil || !strings.Contains(err.Error(), "edge.yaml:4: ") {
		t.Errorf("the line is not shown: %v", err)
	}
}
