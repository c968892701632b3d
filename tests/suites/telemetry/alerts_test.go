package telemetry

import (
	"os"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// rule is one alert.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(deployed + "chart/files/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		t.Fatalf("alerts.yml: %v", err)
	}
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("alerts.yml has no rules")
	}
	return all
}

// Whoever is woken up learns what it is about and what to do.
func TestAlerts(t *testing.T) {
	names := map[string]bool{}
	for _, r := range alerts(t) {
		if names[r.Alert] || r.Alert == "" {
			t.Errorf("two alerts are named %q", r.Alert)
		}
		names[r.Alert] = true
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has the severity %q", r.Alert, s)
		}
		for _, a := range []string{"summary", "description", "runbook"} {
			if r.Annotations[a] == "" {
				t.Errorf("%s has no %s", r.Alert, a)
			}
		}
		if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
			t.Errorf("%s: for %q", r.Alert, r.For)
		}
	}
}
