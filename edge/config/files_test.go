package config

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Relative names in the file are relative to it, wherever the process runs; those of flags are not.
func TestFilesBesideTheSettings(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	name := filepath.Join(dir, "edge.yaml")
	const text = `
listen:
  tls: {cert: tls.crt, key: /etc/tls.key, client-ca: sub/ca.crt}
  public-url: https://mcp.example
server: {signing-key: id.pem}
auth:
  api-keys: keys.yaml
  issuers: [{issuer: 'https://a.example', jwks: 'https://a.example/jwks'}, {issuer: 'https://b.example', jwks: b.json}]
policy: {external: {target: 'h:1', tls: {ca: pdp.crt}}}
audit: {file: '-', arguments: digest, digest-key-file: digest.key}
backends: [{name: a, target: 'h:1', tls: {ca: a.crt}}, {name: b, target: 'h:2', kind: reflect, descriptor-set: b.pb, metadata: {x-key: {file: key}, x-env: {value: v}}}]
`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(serve, []string{"--config", name}, env(map[string]string{"MCPEDGE_ADMIN_TLS_CERT": "admin.crt", "MCPEDGE_ADMIN_TLS_KEY": "admin.key"}), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		c.Listen.TLS.Cert: dir + "/tls.crt", c.Listen.TLS.Key: "/etc/tls.key", c.Listen.TLS.ClientCA: dir + "/sub/ca.crt", c.Server.SigningKey: dir + "/id.pem",
		c.Auth.APIKeys: dir + "/keys.yaml", c.Auth.Issuers[0].JWKS: "https://a.example/jwks", c.Auth.Issuers[1].JWKS: dir + "/b.json",
		c.Policy.External.TLS.CA: dir + "/pdp.crt", c.Audit.File: "-", c.Audit.DigestKeyFile: dir + "/digest.key", c.Backends[0].TLS.CA: dir + "/a.crt", c.Backends[1].DescriptorSet: dir + "/b.pb",
		c.Admin.TLS.Cert: "admin.crt", c.Backends[1].Metadata["x-key"].File: dir + "/key", c.Backends[1].Metadata["x-env"].Value: "v",
	} {
		if got != filepath.FromSlash(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	// A file that is only in the working directory was found there by earlier releases. Its error
	// does not hide other mistakes.
	if err := os.WriteFile("keys.yaml", []byte("[]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Load(serve, []string{"--config", name}, env(nil), io.Discard)
	if want := name + ":7: auth.api-keys: keys.yaml is not beside the file of settings, in " + dir + ", but in the working directory"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := os.WriteFile(name, []byte(text+"shutdown: {grace: 1s}\nlists: {schemas: loose}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Load(serve, []string{"--config", name}, env(nil), io.Discard)
	for _, want := range []string{"auth.api-keys: keys.yaml is not beside", `lists.schemas: "loose"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := ReadFile(name); err == nil || !strings.Contains(err.Error(), "is not beside") {
		t.Errorf("read again: %v", err)
	}
}

// An output file need not exist: one of that name in the working directory belongs to another
// program.
func TestOutputsBesideTheSettings(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	name := filepath.Join(dir, "edge.yaml")
	for file, text := range map[string]string{name: "audit: {file: audit.jsonl}\n", "audit.jsonl": "{}\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(serve, []string{"--config", name}, env(nil), io.Discard)
	if err != nil || c.Audit.File != filepath.Join(dir, "audit.jsonl") {
		t.Errorf("%+v, %v", c.Audit, err)
	}
}

// Each key that is the name of a file says so.
func TestFilesAreMarked(t *testing.T) {
	var walk func(t reflect.Type, under string)
	walk = func(of reflect.Type, under string) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			f := of.Field(i)
			key := f.Tag.Get("yaml")
			isFile := f.Type.Kind() == reflect.String && slices.ContainsFunc([]string{"file", "cert", "key", "ca", "descriptor-set"}, func(end string) bool {
				return key == end || strings.HasSuffix(key, "-"+end)
			})
			if isFile && f.Tag.Get("names") == "" {
				t.Errorf("%s.%s", under, key)
			}
			if f.IsExported() && key != "-" {
				walk(f.Type, under+"."+key)
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
}
