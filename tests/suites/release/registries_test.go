//go:build release && linux

package release

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/ociregistry"
)

// npmRegistry serves the npm packages as a registry does, and nothing else.
func (d *dist) npmRegistry(t *testing.T) (url string, names []string) {
	t.Helper()
	packuments := map[string]any{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, name := range d.names {
		if !strings.HasSuffix(name, ".tgz") {
			continue
		}
		raw, err := os.ReadFile(d.files[name])
		if err != nil {
			t.Fatal(err)
		}
		manifest := packageJSON(t, d.files[name])
		if manifest == nil {
			continue // the chart
		}
		names = append(names, name)
		sum := sha512.Sum512(raw)
		manifest["dist"] = map[string]string{
			"tarball": server.URL + "/-/" + name, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		packuments["/"+manifest["name"].(string)] = map[string]any{
			"name": manifest["name"], "dist-tags": map[string]any{"latest": manifest["version"]},
			"versions": map[string]any{manifest["version"].(string): manifest},
		}
		mux.HandleFunc("/-/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(raw) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if p, ok := packuments[r.URL.Path]; ok { // a scope's slash is escaped, which Path is not
			_ = json.NewEncoder(w).Encode(p)
			return
		}
		http.NotFound(w, r)
	})
	return server.URL, names
}

// packageJSON reads that of an npm package; nil: the file is none.
func packageJSON(t *testing.T, file string) (m map[string]any) {
	t.Helper()
	raw, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	z, err := gzip.NewReader(raw)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "package/package.json" {
			if err := json.NewDecoder(r).Decode(&m); err != nil {
				t.Fatal(err)
			}
			return m
		}
	}
}

// npm: npx mcpedge starts the edge, from a registry; installed, it ends as it is told. Scripts of packages are not run, so nothing depends on
// one.
func (d *dist) npm(t *testing.T) {
	launcher, _ := d.one(t, "npm-mcpedge-"+d.version, ".tgz")
	d.need(t, launcher, "node", "npm", "npx")
	url, names := d.npmRegistry(t)
	dir := t.TempDir()
	env := []string{"npm_config_registry=" + url, "npm_config_cache=" + filepath.Join(dir, "cache"), "npm_config_ignore_scripts=true", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false"}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, env, "npm", "install", "mcpedge@"+d.version)
	edge := filepath.Join(dir, "node_modules", ".bin", "mcpedge")
	d.versioned(t, edge)
	serving{command: []string{edge}, caller: []string{edge}}.answers(t)
	d.say(launcher, "npm install, answered")

	serving{env: env, command: []string{"npx", "--yes", "mcpedge@" + d.version, "serve"}, caller: []string{edge}, through: true}.answers(t)
	d.say(launcher, "npx mcpedge, answered")
	mine := "-linux-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[here] + "-"
	for _, name := range names {
		switch {
		case strings.Contains(name, mine):
			d.say(name, "installed by npm for %s", launcher)
		case name != launcher && !strings.HasPrefix(name, "npm-mcpedge-capability-"):
			d.say(name, "made; npm leaves it out here")
		}
	}
	installed, err := filepath.Glob(filepath.Join(dir, "node_modules", "@mcpedge", "*"))
	if err != nil || len(installed) != 1 {
		t.Errorf("npm installed the programs %v, want this platform's", installed)
	}
}

// wheel: uvx mcpedge starts the edge, and so does what pip installs.
func (d *dist) wheel(t *testing.T) {
	name, file := d.one(t, "mcpedge-", "musllinux_1_1_"+machines[here]+".whl")
	d.need(t, name, "python3")
	dir, wheels := t.TempDir(), filepath.Dir(file)
	python := filepath.Join(dir, "venv", "bin")
	run(t, dir, nil, "python3", "-m", "venv", filepath.Join(dir, "venv"))
	pip := func(args ...string) {
		t.Helper()
		run(t, dir, nil, filepath.Join(python, "pip"), append([]string{"install", "--quiet", "--disable-pip-version-check"}, args...)...)
	}
	pip("--no-index", "--pre", "--find-links", wheels, "mcpedge")
	edge := filepath.Join(python, "mcpedge")
	d.versioned(t, edge)
	serving{command: []string{edge}, caller: []string{edge}}.answers(t)
	d.say(name, "pip install, answered")

	pip("uv==0.13.9")
	env := []string{"UV_NO_INDEX=1", "UV_FIND_LINKS=" + wheels, "UV_CACHE_DIR=" + filepath.Join(dir, "cache"), "UV_PRERELEASE=allow", "UV_NO_CONFIG=1"}
	uvx := filepath.Join(python, "uvx")
	serving{env: env, command: []string{uvx, "mcpedge"}, caller: []string{edge}, through: true}.answers(t)
	d.say(name, "uvx mcpedge, answered")
	for _, other := range d.names {
		if strings.HasSuffix(other, ".whl") && other != name && !strings.HasPrefix(other, "mcpedge_capability-") {
			d.say(other, "made; not installed here")
		}
	}
}

// chart: it is pushed to a registry and rendered from there, with the image of its version.
func (d *dist) chart(t *testing.T) {
	name, file := d.one(t, "mcpedge-chart-", ".tgz")
	d.need(t, name, ociregistry.Program)
	helm, err := filepath.Abs(filepath.Join(root, "bin", "helm"))
	if err != nil {
		t.Fatal(err)
	}
	charts := "oci://" + ociregistry.Start(t, t.TempDir()) + "/charts"
	run(t, "", nil, helm, "push", file, charts, "--plain-http")
	rendered := run(t, "", nil, helm, "template", "edge", charts+"/mcpedge", "--version", d.version, "--plain-http", "--kube-version", "1.34.0")
	if image := "ghcr.io/mcpedge/mcpedge:" + d.version; !strings.Contains(rendered, image) {
		t.Errorf("the chart does not run %s:\n%s", image, rendered)
	}
	d.say(name, "helm push, rendered from the registry; started by make stages ONLY=chart, make stages ONLY=kubernetes")
}
