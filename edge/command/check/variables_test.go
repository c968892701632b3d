package check

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
)

// Each variable that cannot be pinned is reported with the file, the line and the entry, and an entry that
// matches no template is a note. An owner's pin of a variable that the platform pins has no effect.
func TestCheckOfPinnedVariables(t *testing.T) {
	dir := t.TempDir()
	backend := capability.New("crm", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	for _, text := range []string{"crm://{tenant}/plan/{id}", "crm://days/{day:2}", "crm://search{?q,tenant}"} {
		capability.AddTemplate(backend, &capability.ResourceTemplate{UriTemplate: text, Name: "t"},
			func(context.Context, *capability.Call, string, map[string]string) (string, error) { return "", nil })
	}
	for name, text := range map[string]string{
		"edge.yaml": "backends: [{name: crm, target: '" + commandtest.Serve(t, backend) + "'}]\n" +
			"catalog:\n  resources:\n    - {backend: crm, resource: 'crm://{tenant}/**', variables: {tenant: {value: acme}}}\n" +
			"    - {backend: crm, resource: 'crm://{tenent}/plan/{id}', variables: {tenent: {value: acme}}}\n" +
			"include: [{name: crm-team, file: crm.yaml, owns: {backends: [crm]}, may: [catalog]}]\n",
		"crm.yaml": "catalog:\n  resources:\n    - {resource: 'crm://{tenant}/plan/{id}', variables: {tenant: {value: globex}, nosuch: {value: x}}}\n" +
			"    - {resource: 'crm://days/*', variables: {day: {value: x}}}\n    - {resource: 'crm://search*', variables: {tenant: {value: x}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	err := Run(t.Context(), []string{"--config", filepath.Join(dir, "edge.yaml")}, &out, &out)
	for _, want := range []string{
		`crm.yaml:3: catalog.resources[0]: variables: the template crm://{tenant}/plan/{id} is hidden, because its variables cannot be pinned: it has no variable "nosuch"`,
		`crm.yaml:4: catalog.resources[1]: variables: the template crm://days/{day:2} is hidden, because its variables cannot be pinned: its variable "day" has a modifier`,
		`crm.yaml:5: catalog.resources[2]: variables: the template crm://search{?q,tenant} is hidden, because its variables cannot be pinned: its variable "tenant" follows others`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	for _, want := range []string{
		"crm.yaml:3: catalog.resources[0]: variables.tenant: it has no effect, since ",
		"catalog.resources[1]: resource: the backend crm lists no resource with the name crm://{tenent}/plan/{id}",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}
