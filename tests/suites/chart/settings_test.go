package chart

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
)

var (
	block    = regexp.MustCompile("(?s)\n```yaml\n(.*?)```")
	exposing = regexp.MustCompile(`(?m)^(ingress|httpRoute):$`)
)

// Every file of settings that the documentation shows passes the schema, and the edge reads from the chart's file what it reads
// from that one.
func TestSettingsOfTheDocumentation(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown, dir := 0, t.TempDir()
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			want, ok := read(t, dir, m[1])
			if !ok {
				continue
			}
			shown++
			rendered, err := render(t, under(m[1]), `
config: {listen: {address: ":8080", allow-anonymous: true, public-url: "https://mcp.example.com"}, admin: {address: ":9090"}}
`)
			if err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
				continue
			}
			all := decode(t, rendered)
			files := newCluster(t, "", all).volume(t, edgePod(t, all), "config")
			got, ok := read(t, dir, files["edge.yaml"])
			if !ok {
				t.Errorf("%s: the edge cannot read\n%s", page, files["edge.yaml"])
			}
			checkRead(t, page, want, got)
		}
	}
	if shown < 10 {
		t.Errorf("%d files of settings were found", shown)
	}
}

// under puts settings under the value config.
func under(settings string) string {
	return "config:\n  " + strings.ReplaceAll(strings.TrimSpace(settings), "\n", "\n  ") + "\n"
}

// read reads settings as the edge does, from a file in a directory, which relative names are beside; false: these are none. What is wrong with
// what they say is of no interest.
func read(t *testing.T, dir, settings string) (config.Config, bool) {
	t.Helper()
	file := filepath.Join(dir, "edge.yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.ReadFile(file)
	return cfg, err == nil
}

// checkRead holds that each setting that is not the default is the same, but for those that the test sets.
func checkRead(t *testing.T, page string, want, got config.Config) {
	t.Helper()
	usual := config.Default()
	for _, c := range []*config.Config{&want, &got, &usual} {
		c.Listen.Address, c.Admin.Address, c.Listen.AllowAnonymous, c.Admin.AllowRemote, c.Listen.PublicURL, c.File = "", "", false, false, "", ""
	}
	if want.Log.Format == usual.Log.Format {
		want.Log.Format = got.Log.Format
	}
	if want.Listen.ConnectionAge == usual.Listen.ConnectionAge { // The chart derives it.
		want.Listen.ConnectionAge = got.Listen.ConnectionAge
	}
	if want.Shutdown.Delay == usual.Shutdown.Delay { // The chart derives it.
		want.Shutdown.Delay = got.Shutdown.Delay
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.Config]()) {
		if !field.IsExported() { // Where a setting is from is no setting.
			continue
		}
		value := func(c config.Config) any { return reflect.ValueOf(c).FieldByIndex(field.Index).Interface() }
		if one, other := value(want), value(got); !reflect.DeepEqual(one, value(usual)) && !reflect.DeepEqual(one, other) {
			t.Errorf("%s: the edge reads %s as %+v, not %+v", page, field.Name, other, one)
		}
	}
}

// What a user sets wins over what the chart derives, also where it is false or empty.
func TestConfigWins(t *testing.T) {
	rendered, err := render(t, `
config: {shutdown: {delay: 0s, grace: 5m}, log: {level: warn}, admin: {allow-remote: false, auth: {scope: operate}}, listen: {sse: false, public-url: "https://other.example", tls: {key: /other/tls.key}}, auth: {api-keys: keys.yaml}}
ingress: {enabled: true, hosts: [{host: mcp.example.com}]}
tls: {existingSecret: mcp-tls}
`)
	if err != nil {
		t.Fatal(err)
	}
	all := decode(t, rendered)
	p := edgePod(t, all)
	got, _ := read(t, t.TempDir(), newCluster(t, "", all).volume(t, p, "config")["edge.yaml"])
	if got.Shutdown.Delay != 0 || got.Shutdown.Grace != 5*time.Minute || got.Log != (config.Log{Level: "warn", Format: "json"}) || got.Admin.AllowRemote || got.Listen.SSE ||
		got.Listen.PublicURL != "https://other.example" || got.Listen.TLS.Key != "/other/tls.key" || got.Listen.TLS.Cert != "/etc/mcpedge/tls/tls.crt" {
		t.Errorf("the edge reads %+v", got)
	}
	if grace := *p.spec.TerminationGracePeriodSeconds; grace != 310 {
		t.Errorf("the pod is killed after %d s, not 5m10s", grace)
	}
}

// The values that docs/kubernetes.md shows are good ones.
func TestValuesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := block.FindAllStringSubmatch(string(text), -1)
	if len(shown) < 10 {
		t.Errorf("%d files of values were found", len(shown))
	}
	for _, m := range shown {
		if strings.HasPrefix(m[1], "apiVersion:") { // an object of the reader's own
			if _, _, err := decoder(t).Decode([]byte(m[1]), nil, nil); err != nil {
				t.Errorf("%v\n%s", err, m[1])
			}
			continue
		}
		values := []string{m[1]}
		if exposing.MatchString(m[1]) { // It goes beside a file that says who may call.
			values = append(values, "config: {auth: {api-keys: /etc/mcpedge/keys/keys.yaml}}")
		}
		r, err := render(t, values...)
		if err != nil {
			t.Errorf("%v\n%s", err, m[1])
			continue
		}
		decode(t, r)
	}
}
