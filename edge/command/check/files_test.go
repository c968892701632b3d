package check

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// fileKeys returns the keys of the settings that name input files, without indexes of lists and
// keys of maps.
func fileKeys() (keys []string) {
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			key := f.Tag.Get("yaml")
			if key == "" || key == "-" {
				continue
			}
			at := strings.TrimPrefix(path+"."+key, ".")
			if f.Tag.Get("names") == "file" {
				keys = append(keys, at)
			}
			walk(f.Type, at)
		}
	}
	walk(reflect.TypeFor[config.Config](), "")
	return keys
}

// TestOfflineReadsEveryFile: check --offline reads every file that a key names, and reports
// unreadable ones.
func TestOfflineReadsEveryFile(t *testing.T) {
	const backend = "backends: [{name: one, target: 'h:1'}]\n"
	issuer := func(more string) string {
		return backend + "auth: {issuers: [{issuer: 'https://h', " + more + "}]}\n"
	}
	services := func(more string) string { return "kubernetes: {backends: [{name: 'a/*', " + more + "}]}\n" }
	settings := map[string]string{
		"listen.tls.cert":                               backend + "listen: {tls: {cert: absent, key: there}}\n",
		"listen.tls.key":                                backend + "listen: {tls: {cert: there, key: absent}}\n",
		"listen.tls.client-ca":                          backend + "listen: {tls: {cert: there, key: there, client-ca: absent}}\n",
		"admin.tls.cert":                                backend + "admin: {tls: {cert: absent, key: there}}\n",
		"admin.tls.key":                                 backend + "admin: {tls: {cert: there, key: absent}}\n",
		"admin.tls.client-ca":                           backend + "admin: {tls: {cert: there, key: there, client-ca: absent}}\n",
		"auth.issuers.jwks":                             issuer("jwks: absent"),
		"auth.api-keys":                                 backend + "auth: {api-keys: absent}\n",
		"backends.descriptor-set":                       "backends: [{name: one, target: 'h:1', kind: reflect, descriptor-set: absent}]\n",
		"backends.metadata.file":                        "backends: [{name: one, target: 'h:1', metadata: {x-key: {file: absent}}}]\n",
		"backends.tls.ca":                               "backends: [{name: one, target: 'h:1', tls: {ca: absent}}]\n",
		"backends.tls.cert":                             "backends: [{name: one, target: 'h:1', tls: {cert: absent, key: there}}]\n",
		"backends.tls.key":                              "backends: [{name: one, target: 'h:1', tls: {cert: there, key: absent}}]\n",
		"kubernetes.backends.descriptor-set":            services("kind: reflect, descriptor-set: absent"),
		"kubernetes.backends.metadata.file":             services("metadata: {x-key: {file: absent}}"),
		"kubernetes.backends.tls.ca":                    services("tls: {ca: absent}"),
		"kubernetes.backends.tls.cert":                  services("tls: {cert: absent, key: there}"),
		"kubernetes.backends.tls.key":                   services("tls: {cert: there, key: absent}"),
		"kubernetes.tls.ca":                             "kubernetes: {tls: {ca: absent}}\n",
		"kubernetes.tls.cert":                           "kubernetes: {tls: {cert: absent, key: there}}\n",
		"kubernetes.tls.key":                            "kubernetes: {tls: {cert: there, key: absent}}\n",
		"server.signing-key":                            backend + "server: {signing-key: absent}\n",
		"hooks.tls.ca":                                  backend + "hooks: [{name: dlp, target: 'h:1', on: [request], tls: {ca: absent}}]\n",
		"hooks.tls.cert":                                backend + "hooks: [{name: dlp, target: 'h:1', on: [request], tls: {cert: absent, key: there}}]\n",
		"hooks.tls.key":                                 backend + "hooks: [{name: dlp, target: 'h:1', on: [request], tls: {cert: there, key: absent}}]\n",
		"policy.external.tls.ca":                        backend + "policy: {default: deny, external: {target: 'h:1', tls: {ca: absent}}}\n",
		"policy.external.tls.cert":                      backend + "policy: {default: deny, external: {target: 'h:1', tls: {cert: absent, key: there}}}\n",
		"policy.external.tls.key":                       backend + "policy: {default: deny, external: {target: 'h:1', tls: {cert: there, key: absent}}}\n",
		"catalog-lock.file":                             backend + "catalog-lock: {file: absent}\n",
		"audit.digest-key-file":                         backend + "audit: {file: a, arguments: digest, digest-key-file: absent}\n",
		"auth.issuers.introspection.client-secret-file": issuer("introspection: {url: 'https://h/i', client-id: me, client-secret-file: absent}"),
		"auth.issuers.exchange.client-secret-file":      issuer("exchange: {client-id: me, client-secret-file: absent}"),
	}
	missing := regexp.MustCompile(`absent\b.*no such file or directory`)
	for _, key := range fileKeys() {
		text, known := settings[key]
		if key == "kubernetes.metadata.file" { // its own check refuses it
			continue
		}
		if !known {
			t.Errorf("%s: the test has no settings with it", key)
			continue
		}
		dir := t.TempDir()
		for name, text := range map[string]string{"edge.yaml": text, "there": "nothing"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		err := Run(t.Context(), []string{"--config", filepath.Join(dir, "edge.yaml"), "--offline"}, &out, &out)
		if err == nil || !missing.MatchString(out.String()+err.Error()) {
			t.Errorf("%s: %v\n%s", key, err, &out)
		}
	}
}

// TestOfflineReadsKeys: check --offline refuses a file of API keys that serve refuses, and notes
// scopes that no key has.
func TestOfflineReadsKeys(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"edge.yaml": "backends: [{name: one, target: 'h:1'}]\nauth: {api-keys: keys.yaml}\nadmin: {auth: {scope: ops}}\n",
		"keys.yaml": "- {name: x, sha256: zz}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func() (string, error) {
		var out strings.Builder
		err := Run(t.Context(), []string{"--config", filepath.Join(dir, "edge.yaml"), "--offline"}, &out, &out)
		return out.String(), err
	}
	if out, err := run(); err == nil || !strings.Contains(err.Error(), "edge.yaml:2: auth.api-keys: ") || !strings.Contains(err.Error(), `entry 1, "x": sha256 is not 64 hexadecimal digits`) {
		t.Errorf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "keys.yaml"), []byte("- {name: x, sha256: "+strings.Repeat("ab", 32)+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err != nil || !strings.Contains(out, "ok      auth.api-keys: 1 keys were read") || !strings.Contains(out, `no API key has the scope "ops"`) {
		t.Errorf("%v\n%s", err, out)
	}
}
