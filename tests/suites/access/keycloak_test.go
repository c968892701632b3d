//go:build access

package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

const (
	keycloakVersion = "26.7.3"
	// keycloakSum is the SHA-256 of the distribution.
	keycloakSum = "27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f"
	// mavenPlugin fetches it.
	mavenPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
	// keycloakWithin bounds its start, which takes 50 seconds of processor time the first time.
	keycloakWithin = 4 * time.Minute
	// realmFile is the one that compose imports.
	realmFile = "../../../deploy/keycloak/mcpedge-realm.json"
)

// keycloak is the one Keycloak of the package, in development mode. Its administrator is admin, with the password admin.
type keycloak struct {
	origin string
	run    *process.Process
	home   string
}

// startKeycloak runs a Keycloak on a free port of loopback, whose realm mcpedge is for the edge at this URL, and returns once it serves.
func startKeycloak(ctx context.Context, edge string) (*keycloak, error) {
	dist, err := distribution(ctx)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(filepath.Dir(dist), "run") // beside it, to be linked with it
	if err != nil {
		return nil, err
	}
	k := &keycloak{home: home}
	if err := k.start(ctx, dist, edge); err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

func (k *keycloak) start(ctx context.Context, dist, edge string) error {
	if err := link(dist, k.home); err != nil {
		return err
	}
	realm, err := os.ReadFile(realmFile)
	if err != nil {
		return err
	}
	imports := filepath.Join(k.home, "data", "import")
	if err := os.MkdirAll(imports, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(imports, filepath.Base(realmFile)), realm, 0o644); err != nil {
		return err
	}
	address, err := freeport.Addr()
	if err != nil {
		return err
	}
	host, port, _ := strings.Cut(address, ":")
	// As in docs/access.md, but for a small heap, and for a compiler and a store that start faster.
	k.run, err = process.Start("keycloak", "env", filepath.Join(k.home, "log"),
		"KC_BOOTSTRAP_ADMIN_USERNAME=admin", "KC_BOOTSTRAP_ADMIN_PASSWORD=admin", "EDGE_URL="+edge,
		"JAVA_OPTS_KC_HEAP=-Xms64m -Xmx384m", "JAVA_OPTS_APPEND=-XX:TieredStopAtLevel=1",
		filepath.Join(k.home, "bin", "kc.sh"), "start-dev", "--import-realm", "--db=dev-mem", "--http-host="+host, "--http-port="+port)
	if err != nil {
		return err
	}
	k.origin = "http://" + address
	if err := k.await(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, k.run.Tail())
	}
	return keep(dist, k.home)
}

// await returns once Keycloak has imported the realm and serves.
func (k *keycloak) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, keycloakWithin, fmt.Errorf("no Keycloak served within %v", keycloakWithin))
	defer cancel()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.origin+"/realms/mcpedge/.well-known/openid-configuration", nil)
		if err != nil {
			return err
		}
		if ask(r, nil) == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-k.run.Done():
			return errors.New("the Keycloak has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (k *keycloak) close() error {
	var err error
	if k.run != nil {
		err = k.run.Kill()
	}
	return errors.Join(err, os.RemoveAll(k.home))
}

// distribution is the directory of the unpacked distribution, in the user's cache. What is not there is fetched by Maven.
func distribution(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "mcpedge")
	dist := filepath.Join(cache, "keycloak-"+keycloakVersion)
	if _, err := os.Stat(dist); err == nil {
		return dist, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(cache, "fetch")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	repository := filepath.Join(dir, "repository")
	maven := func(args ...string) error {
		args = append([]string{"-B", "-q", "-C", "-Dmaven.repo.local=" + repository, "-Dartifact=org.keycloak:keycloak-quarkus-dist:" + keycloakVersion + ":zip"}, args...)
		cmd := exec.CommandContext(ctx, "mvn", args...)
		cmd.Dir = dir // where it leaves what it marks, in a directory of an odd name
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("fetching Keycloak takes Maven 3.8 or later and Maven Central: %w\n%s", err, out)
		}
		return nil
	}
	if err := maven(mavenPlugin+":get", "-Dtransitive=false"); err != nil {
		return "", err
	}
	file := filepath.Join(repository, "org", "keycloak", "keycloak-quarkus-dist", keycloakVersion, "keycloak-quarkus-dist-"+keycloakVersion+".zip")
	if err := verify(file, keycloakSum); err != nil {
		return "", err
	}
	// By Maven: under the race detector it takes a minute.
	if err := maven(mavenPlugin+":unpack", "-o", "-DoutputDirectory="+dir); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(dir, filepath.Base(dist)), dist); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dist, nil
}

// verify returns an error unless a file has this SHA-256.
func verify(file, sum string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return fmt.Errorf("%s has the SHA-256 %s, want %s: what was fetched is not what was pinned", file, got, sum)
	}
	return nil
}

// quarkus is what Keycloak builds of itself when it is started with settings of another kind than before.
const quarkus = "lib/quarkus"

// link has a distribution at home, too. Its files are the same ones, but for what Keycloak writes.
func link(dist, home string) error {
	return filepath.WalkDir(dist, func(from string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dist, from)
		if err != nil {
			return err
		}
		to := filepath.Join(home, name)
		switch {
		case entry.IsDir() && name == filepath.FromSlash(quarkus):
			built := dist + "-built"
			if _, err := os.Stat(built); err == nil {
				from = built
			}
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				return err
			}
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(to, 0o755)
		}
		return os.Link(from, to)
	})
}

// keep has the next start find what this one has built.
func keep(dist, home string) error {
	built := dist + "-built"
	if _, err := os.Stat(built); err == nil {
		return nil
	}
	dir, err := os.MkdirTemp(filepath.Dir(dist), "built")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(filepath.Join(dir, "quarkus"), os.DirFS(filepath.Join(home, filepath.FromSlash(quarkus)))); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, "quarkus"), built); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// admin asks the administration API of Keycloak at a path below /admin/realms, and reads a JSON answer into out, if that is not nil.
func (k *keycloak) admin(ctx context.Context, method, path string, in, out any) error {
	form := url.Values{"grant_type": {"password"}, "client_id": {"admin-cli"}, "username": {"admin"}, "password": {"admin"}}
	login, err := http.NewRequestWithContext(ctx, http.MethodPost, k.origin+"/realms/master/protocol/openid-connect/token", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	login.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := ask(login, &token); err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, k.origin+"/admin/realms"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token.AccessToken)
	r.Header.Set("Content-Type", "application/json")
	return ask(r, out)
}

func ask(r *http.Request, out any) error {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s\n%s", r.Method, r.URL, resp.Status, body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(body, out)
}

// placeholder is what Keycloak puts the variable EDGE_URL into when it imports the file.
const placeholder = "${EDGE_URL:http://localhost:8080}"

// keycloakRealm is a realm of one client and one edge.
type keycloakRealm struct {
	*keycloak
	name, issuer string
}

// atKeycloak makes another realm of the same file, for the edge at this URL.
func atKeycloak(t *testing.T, name, edge string, log *transcript) server {
	t.Helper()
	k := theKeycloak(t)
	raw, err := os.ReadFile(realmFile)
	if err != nil {
		t.Fatal(err)
	}
	var realm map[string]any
	if err := json.Unmarshal(bytes.ReplaceAll(raw, []byte(placeholder), []byte(edge)), &realm); err != nil {
		t.Fatal(err)
	}
	realm["realm"] = name
	if err := k.admin(t.Context(), http.MethodPost, "", realm, nil); err != nil {
		t.Fatal(err)
	}
	origin := log.proxy(t, k.origin, toServer)
	log.name(origin, "http://SERVER")
	log.name("/realms/"+name, "/realms/REALM")
	return &keycloakRealm{keycloak: k, name: name, issuer: origin + "/realms/" + name}
}

func (k *keycloakRealm) settings() config.Issuer { return config.Issuer{Issuer: k.issuer} }

func (k *keycloakRealm) shortenTokens(t *testing.T) {
	t.Helper()
	if err := k.admin(t.Context(), http.MethodPut, "/"+k.name, map[string]any{"accessTokenLifespan": lifetime / time.Second}, nil); err != nil {
		t.Fatal(err)
	}
}

// revoke takes back what alice has consented to, with offline sessions, and ends all others.
func (k *keycloakRealm) revoke(t *testing.T) {
	t.Helper()
	var users []struct{ ID string }
	if err := k.admin(t.Context(), http.MethodGet, "/"+k.name+"/users?exact=true&username=alice", nil, &users); err != nil {
		t.Fatal(err)
	}
	if len(users) != 1 {
		t.Fatalf("%d users", len(users))
	}
	var consents []struct {
		ClientID string `json:"clientId"`
	}
	user := "/" + k.name + "/users/" + users[0].ID
	if err := k.admin(t.Context(), http.MethodGet, user+"/consents", nil, &consents); err != nil {
		t.Fatal(err)
	}
	for _, consent := range consents {
		if err := k.admin(t.Context(), http.MethodDelete, user+"/consents/"+consent.ClientID, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.admin(t.Context(), http.MethodPost, "/"+k.name+"/logout-all", nil, nil); err != nil {
		t.Fatal(err)
	}
}
