package chart

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	root      = "../../.."
	chartDir  = root + "/deploy/chart"
	namespace = "mcp"
	// name of the release and, since it has the chart's in it, of its objects.
	name = "my-mcpedge"
)

// render renders the chart as `helm install -f FILE …` does, the later file winning, against the schema of the values, too.
func render(t *testing.T, texts ...string) (*release.Release, error) {
	t.Helper()
	var files []string
	for i, text := range texts {
		file := filepath.Join(t.TempDir(), strconv.Itoa(i)+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	merged, err := (&values.Options{ValueFiles: files}).MergeValues(getter.Providers{})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(&action.Configuration{Log: t.Logf})
	install.ReleaseName, install.Namespace = name, namespace
	install.DryRun, install.ClientOnly = true, true
	install.KubeVersion = &chartutil.KubeVersion{Version: "v1.34.0", Major: "1", Minor: "34"}
	return install.Run(loaded, merged)
}

// documents are the objects of a release, those of its tests too, each in YAML.
func documents(t *testing.T, r *release.Release) (out [][]byte) {
	t.Helper()
	text := r.Manifest
	for _, hook := range r.Hooks {
		text += "\n---\n" + hook.Manifest
	}
	reader := yaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(text)))
	for {
		buffer := make([]byte, len(text)+1)
		n, err := reader.Read(buffer)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if document := bytes.TrimSpace(buffer[:n]); hasContent(document) {
			out = append(out, document)
		}
	}
}

// hasContent says whether a document is more than comments.
func hasContent(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return true
		}
	}
	return false
}
