//go:build kubernetes && linux

package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Traefik's version, and its module's checksum.
const traefikVersion, traefikSum = "v3.7.13", "h1:T8wy9KuaFzCkmXCqAzDy7t73pBDR1DHrJe3pqXpNXTw="

// Traefik's module does not build alone: it takes forks of two modules, and for ACME the clients of many DNS services, not all of which
// are published as modules, and a module below its own folder. traefikChanges are what it takes without them. Rules of Traefik's
// version 2, Basic and Digest authentication and ACME by DNS do not work then; nothing else is touched, least of all how it routes
// and proxies.
var traefikChanges = []struct{ file, from, to string }{
	{"pkg/muxer/http/mux.go", "\t\"github.com/gorilla/mux\"\n", ""},
	{"pkg/muxer/http/mux.go", "mux.RoutingPathKey", "routingPathKey{}"},
	{"pkg/muxer/http/matcher_v2.go", ".UseRoutingPath()", ""},
	{"pkg/middlewares/auth/basic_auth.go", "goauth.CheckSecret", "func(string, string) bool { return false }"},
	{"pkg/middlewares/auth/digest_auth.go", "RequireAuthStale", "RequireAuth"},
	{"pkg/provider/acme/provider.go", "\t\"github.com/go-acme/lego/v5/providers/dns\"\n", ""},
	{"pkg/provider/acme/provider.go", "dns.NewDNSChallengeProviderByName(", "noDNS("},
}

// traefikAdded are files beside them.
var traefikAdded = map[string]string{
	"pkg/muxer/http/key.go":           "package http\n\ntype routingPathKey struct{}\n",
	"pkg/config/dynamic/ext/go.mod":   "module github.com/traefik/traefik/dynamic/ext\n\ngo 1.26\n",
	"pkg/config/dynamic/ext/empty.go": "package ext\n\ntype HTTP struct{}\n\ntype Router struct{}\n",
	"pkg/provider/acme/dns.go": "package acme\n\nimport (\n\t\"errors\"\n\n\t\"github.com/go-acme/lego/v5/challenge\"\n)\n\n" +
		"func noDNS(name string) (challenge.Provider, error) { return nil, errors.New(\"no DNS service in this build: \" + name) }\n",
}

// buildTraefik builds it from a changed copy of its module, which is removed afterwards.
func buildTraefik(to string) (err error) {
	from, err := traefikModule()
	if err != nil {
		return err
	}
	dir := to + ".source" // always the same, so that what was built is found in the build cache
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The files of the module cache are read-only.
	for _, args := range [][]string{{"cp", "-R", from, dir}, {"chmod", "-R", "u+w", dir}} {
		if _, err := output(args[0], args[1:]...); err != nil {
			return err
		}
	}
	if err := changeTraefik(dir); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"mod", "edit", "-dropreplace=github.com/gorilla/mux", "-dropreplace=github.com/abbot/go-http-auth", "-require=github.com/abbot/go-http-auth@v0.4.0"},
		{"build", "-mod=mod", "-ldflags=-s -w", "-o", to, "./cmd/traefik"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s in Traefik: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// traefikModule is the folder of the module, which is downloaded where it is not there.
func traefikModule() (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", "github.com/traefik/traefik/v3@"+traefikVersion).Output()
	var module struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &module); jsonErr != nil || module.Error != "" {
		return "", fmt.Errorf("the module of Traefik: %w, %s", errors.Join(err, jsonErr), module.Error)
	}
	if module.Sum != traefikSum {
		return "", fmt.Errorf("the module of Traefik %s has the checksum %s, want %s", traefikVersion, module.Sum, traefikSum)
	}
	return module.Dir, nil
}

func changeTraefik(dir string) error {
	for _, c := range traefikChanges {
		name := filepath.Join(dir, c.file)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), c.from) {
			return fmt.Errorf("%s of Traefik %s has no %q: see what it takes to build it", c.file, traefikVersion, c.from)
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(text), c.from, c.to)), 0o600); err != nil {
			return err
		}
	}
	for name, text := range traefikAdded {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return nil
}
