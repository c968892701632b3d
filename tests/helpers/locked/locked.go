// Package locked configures an edge that requires an API key, and adds the key to requests of
// clients that have none, so that tests of an open edge can run against a locked one.
package locked

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
)

// settings are those of a locked edge: API keys, a policy, quotas and an audit.
const settings = `auth:
  api-keys: %[1]s/keys.yaml
policy:
  default: deny
  scopes: [{need: [use]}]
  rules: [{name: who may call, when: '"suite" in principal.roles', then: allow}]
quotas: [{per: principal, rate: 100000/1s, burst: 100000}]
audit: {file: "%[1]s/audit-{replica}.jsonl", arguments: whole, required: true}
`

// Configure writes the settings of a locked edge into a directory, which also gets the audit. It
// returns the settings file and the random key.
func Configure(dir string) (config, key string, _ error) {
	key = rand.Text()
	keys := fmt.Sprintf("- {name: suite, sha256: %x, scopes: [use], roles: [suite]}\n", sha256.Sum256([]byte(key)))
	if err := os.WriteFile(filepath.Join(dir, "keys.yaml"), []byte(keys), 0o600); err != nil {
		return "", "", err
	}
	config = filepath.Join(dir, "edge.yaml")
	return config, key, os.WriteFile(config, fmt.Appendf(nil, settings, dir), 0o600)
}

// CheckNotStored returns an error if the key was stored: in the audit, in the directory of the settings, or
// in the results of a run, which include logs and responses. It also returns an error if the audit
// has no records.
func CheckNotStored(key, dir, results string) error {
	records, err := filepath.Glob(filepath.Join(dir, "audit-*.jsonl"))
	if err != nil {
		return err
	}
	size := int64(0)
	for _, path := range records {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	if size == 0 {
		return fmt.Errorf("nothing was recorded in %s, in %d files", dir, len(records))
	}
	look := func(path string) error {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(key)) {
			err = fmt.Errorf("%s has the caller's key", path)
		}
		return err
	}
	for _, path := range records {
		err = errors.Join(err, look(path))
	}
	return errors.Join(err, filepath.WalkDir(results, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return look(path)
	}))
}

// WithKey returns a proxy of an endpoint that adds a key to each request. It reads a request
// completely before forwarding it: see harness.Balance. The caller closes it.
func WithKey(endpoint, key string) (*httptest.Server, error) {
	to, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	pass := &httputil.ReverseProxy{
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+key)
		},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	})), nil
}
