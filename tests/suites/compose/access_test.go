package compose

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// The profile access: the realm's tokens are for the locked edge, which knows their issuer by the name that browsers have, and
// reads its keys by the one that its network has; and Keycloak is the one that make stages ONLY=access tries.
func TestAccess(t *testing.T) {
	p := load(t)
	locked, keycloak := p.Services["locked"], p.Services["keycloak"]
	if locked == nil || keycloak == nil {
		t.Fatal("no services locked and keycloak")
	}
	published := func(s *service) string { return fmt.Sprint("http://localhost:", s.Ports[0].Published) }

	none := func(string) (string, bool) { return "", false }
	cfg, err := config.Load("serve", []string{"--config", root + "/deploy/keycloak/edge.yaml"}, none, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cfg.CompilePolicy(); err != nil {
		t.Error(err)
	}
	if at := locked.mounted(t, "deploy/keycloak/edge.yaml"); locked.Command[0] != "--config="+at {
		t.Errorf("the edge has %q, its settings are at %s", locked.Command, at)
	}
	if cfg.Listen.PublicURL != published(locked) {
		t.Errorf("the edge is published at %s, public-url is %s", published(locked), cfg.Listen.PublicURL)
	}
	if got := *keycloak.Environment["EDGE_URL"]; got != cfg.Listen.PublicURL {
		t.Errorf("tokens are for %s, the edge is %s", got, cfg.Listen.PublicURL)
	}

	file := keycloak.mounted(t, "deploy/keycloak/mcpedge-realm.json")
	if !strings.HasPrefix(file, "/opt/keycloak/data/import/") {
		t.Errorf("Keycloak imports nothing at %s", file)
	}
	var realm struct{ Realm string }
	if err := json.Unmarshal([]byte(read(t, "deploy/keycloak/mcpedge-realm.json")), &realm); err != nil {
		t.Fatal(err)
	}
	id := cfg.Auth.Issuers[0]
	if want := published(keycloak) + "/realms/" + realm.Realm; id.Issuer != want {
		t.Errorf("the issuer is %s, want %s", id.Issuer, want)
	}
	if want := "--hostname=" + published(keycloak); keycloak.Command[len(keycloak.Command)-1] != want {
		t.Errorf("Keycloak has %q, want %s", keycloak.Command, want)
	}
	keys, err := url.Parse(id.JWKS)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint("keycloak:", keycloak.Ports[0].Target); keys.Host != want {
		t.Errorf("keys are read at %s, want %s", keys.Host, want)
	}

	tried := regexp.MustCompile(`keycloakVersion = "(.*)"`).FindStringSubmatch(read(t, "tests/suites/access/keycloak_test.go"))
	if tried == nil || !strings.HasSuffix(keycloak.Image, ":"+tried[1]) {
		t.Errorf("the image is %s, make stages ONLY=access tries %q", keycloak.Image, tried)
	}
}
