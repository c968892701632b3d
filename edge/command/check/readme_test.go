package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// The complete settings file in the README passes the check without a note.
func TestSettingsOfTheReadmeAreClean(t *testing.T) {
	page, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\n# edge.yaml\nlisten:\n  address: 0.0.0.0:8443\n")
	text, _, ends := strings.Cut(text, "```")
	if !found || !ends {
		t.Fatal("README.md has no file edge.yaml that begins with the address 0.0.0.0:8443")
	}
	for _, variable := range os.Environ() { // the environment of the tests may have settings
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "MCPEDGE_") {
			t.Setenv(name, value) // restores the value after the test
			_ = os.Unsetenv(name)
		}
	}
	dir := t.TempDir()
	server := authority.New(t, "ca").Server(t)
	authority.File(t, filepath.Join(dir, "tls.crt"), server.Cert)
	authority.File(t, filepath.Join(dir, "tls.key"), server.Key)
	text = strings.Replace(text, "/var/log/mcpedge/", "", 1)
	file := authority.File(t, filepath.Join(dir, "edge.yaml"), []byte("listen:\n  address: 0.0.0.0:8443\n"+text))
	var out strings.Builder
	if err := Run(t.Context(), []string{"--offline", "--strict", "--config", file}, &out, &out); err != nil || strings.Contains(out.String(), "note ") {
		t.Errorf("%v\n%s", err, &out)
	}
}
