package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/transport/sse"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// newAuth makes the Authenticator; nil makes every caller anonymous. It reads the files that the
// settings name. shared returns the proofs that replicas share, once the state is open; it, or its
// result, may be nil.
func newAuth(cfg *config.Config, proxies web.Proxies, shared func() auth.Proofs, log *slog.Logger, t *telemetry.Telemetry) (*auth.Authenticator, error) {
	if cfg.Auth == nil {
		return nil, nil
	}
	o := auth.Options{
		Resource: cfg.PublicURLOrListen(), EndpointOf: endpointOf,
		DPoP: dpopModes[cfg.Auth.DPoP], Proofs: shared, Optional: cfg.Auth.Optional, AddressOf: proxies.Address, Telemetry: t, Logger: log,
		Metadata: auth.Metadata{
			Name: cfg.Server.Title, Scopes: cfg.Auth.Metadata.ScopesSupported, Initial: cfg.Auth.Metadata.InitialScopes,
			Documentation: cfg.Auth.Metadata.Documentation,
		},
	}
	o.Claims = cfg.ForwardedClaims()
	if _, served := cfg.RootSet(); served {
		o.Endpoints = []string{endpointPath}
		if cfg.Listen.SSE {
			o.Endpoints = append(o.Endpoints, sse.StreamPath)
		}
	}
	for i := range cfg.Auth.Issuers {
		o.Issuers = append(o.Issuers, issuerOf(&cfg.Auth.Issuers[i]))
	}
	if file := cfg.Auth.APIKeys; file != "" {
		o.ReadAPIKeys = func() ([]auth.APIKey, error) { return readAPIKeys(file) }
	}
	return auth.New(o)
}

// dpopModes maps the values of the setting.
var dpopModes = map[string]auth.DPoP{config.DPoPAccept: auth.DPoPAccept, config.DPoPRequire: auth.DPoPRequire}

func issuerOf(c *config.Issuer) auth.Issuer {
	i := auth.Issuer{
		URL: c.Issuer, Audiences: c.Audiences, Algorithms: c.Algorithms, Skew: c.SkewOrDefault(),
		Subject: c.Claims.Subject, Scopes: c.Claims.Scopes, Roles: c.Claims.Roles,
	}
	switch {
	case c.JWKS == "":
	case config.IsURL(c.JWKS):
		i.JWKS = c.JWKS
	default:
		i.ReadKeys = func() ([]byte, error) { return os.ReadFile(c.JWKS) }
	}
	if n := c.Introspection; n != nil {
		i.Introspection = &auth.Introspection{
			URL: n.URL, Client: n.ClientID, TTL: n.TTL,
			ReadSecret: func() ([]byte, error) { return os.ReadFile(n.ClientSecretFile) },
		}
	}
	if x := c.Exchange; x != nil {
		i.Exchange = &auth.Exchange{
			URL: x.URL, Client: x.ClientID, ReadSecret: func() ([]byte, error) { return os.ReadFile(x.ClientSecretFile) },
		}
	}
	return i
}

func readAPIKeys(file string) ([]auth.APIKey, error) {
	raw, err := os.ReadFile(file) // #nosec G304 -- the operator names the file
	if err != nil {
		return nil, err
	}
	list, err := config.ParseAPIKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	keys := make([]auth.APIKey, len(list))
	for i := range list {
		k := &list[i]
		keys[i] = auth.APIKey{Name: k.Name, SHA256: k.Sum(), Scopes: k.Scopes, Roles: k.Roles, Claims: k.Claims.JSON(), Expires: k.Expires}
	}
	return keys, nil
}

// endpointOf returns the endpoint of a path, as clients configure it.
func endpointOf(path string) string {
	path = strings.TrimSuffix(path, "/")
	if rest, ok := strings.CutPrefix(path, sse.MessagePath); ok && (rest == "" || rest[0] == '/') {
		return sse.StreamPath + rest
	}
	if path == sse.StreamPath || strings.HasPrefix(path, sse.StreamPath+"/") || strings.HasPrefix(path, endpointPath+"/") {
		return path
	}
	return endpointPath
}

// authenticator returns the authenticator of all transports, which also guards sets. nil disables
// authentication.
func (a *App) authenticator() web.Authenticator {
	if a.callers == nil && a.auth != nil {
		a.callers = a.observed("mcp", a.auth)
	}
	if _, guarded := a.callers.(setGuard); !guarded && servesSets(&a.cfg) {
		a.callers = setGuard{a, a.callers}
	}
	return a.callers
}

// adminAuthenticator returns the authenticator of the admin address; nil authenticates nothing.
func (a *App) adminAuthenticator() web.Authenticator {
	admin := a.cfg.Admin.Auth
	var by web.Authenticator
	if admin != nil && a.auth != nil {
		by = a.auth.Requiring(admin.Scope)
	}
	if admin != nil && admin.ClientCert && a.tls.admin != nil {
		by = &auth.Certificates{
			Setting: "admin.tls.client-ca", Accepts: a.tls.admin.AcceptsClient, Scope: admin.Scope, Else: by,
		}
	}
	if by == nil {
		return nil
	}
	return a.observed("admin", by)
}

// approverAuthenticator returns the authenticator of approvers. nil means that there are none:
// every caller is anonymous, and an anonymous caller cannot approve. A client certificate does not
// identify a person.
func (a *App) approverAuthenticator() web.Authenticator {
	admin := a.cfg.Admin.Auth
	switch {
	case admin == nil:
		return nil
	case a.auth == nil:
		return a.adminAuthenticator()
	}
	return a.observed("admin", a.auth.Requiring(admin.ScopeOfApprovers()))
}

// CheckAuth reads what auth names and writes to out, one line each, whether the keys of the issuers
// can be read. The error says that some cannot, or that auth cannot be used at all. Without the
// setting it writes nothing.
func CheckAuth(ctx context.Context, cfg config.Config, out io.Writer) error {
	return checkAuth(cfg, out, func(a *auth.Authenticator) []auth.Tried { return a.Try(ctx) })
}

// CheckAuthFiles is CheckAuth for the files that auth names. It opens no connection.
func CheckAuthFiles(cfg config.Config, out io.Writer) error {
	return checkAuth(cfg, out, (*auth.Authenticator).TryFiles)
}

func checkAuth(cfg config.Config, out io.Writer, try func(*auth.Authenticator) []auth.Tried) error {
	a, err := newAuth(&cfg, nil, nil, slog.New(slog.DiscardHandler), nil)
	if a == nil || err != nil {
		return err
	}
	failed := 0
	for _, t := range try(a) {
		if t.Err != nil {
			failed++
			_, _ = fmt.Fprintf(out, "error   issuer %s: its keys, or what is needed to ask it, cannot be read: %v\n", t.Issuer, t.Err)
			continue
		}
		if t.Keys < 0 {
			_, _ = fmt.Fprintf(out, "ok      issuer %s: the edge's secrets were read\n", t.Issuer)
			continue
		}
		_, _ = fmt.Fprintf(out, "ok      issuer %s: %d keys were read\n", t.Issuer, t.Keys)
		if t.Keys == 0 {
			_, _ = fmt.Fprintf(out, "note    issuer %s has no keys for signatures: none of its tokens that are JWTs is accepted until it has some\n", t.Issuer)
		}
		if t.NoRegistration {
			_, _ = fmt.Fprintf(out, "note    issuer %s: no client can register itself there: users configure the id of one, see \"Clients that do not register themselves\" in docs/access.md\n", t.Issuer)
		}
	}
	if n := a.APIKeys(); n >= 0 {
		_, _ = fmt.Fprintf(out, "ok      auth.api-keys: %d keys were read\n", n)
		for _, key := range a.ExpiredKeys() {
			_, _ = fmt.Fprintf(out, "info    auth.api-keys: %s\n", expiredText(key))
		}
	}
	reportScopes(&cfg, a, out)
	if failed > 0 {
		return fmt.Errorf("auth: %d issuers cannot be used", failed)
	}
	return nil
}

// expiredText says that a key has expired and, where it is one of several of a caller, whether
// another can be used.
func expiredText(key auth.ExpiredKey) string {
	at := key.At.UTC().Format(time.RFC3339)
	switch {
	case key.Named == 1:
		return fmt.Sprintf("the key %q expired at %s: its requests are answered with 401", key.Name, at)
	case key.Valid == 0:
		return fmt.Sprintf("one of the %d keys named %q expired at %s: its requests are answered with 401; none of them can be used", key.Named, key.Name, at)
	}
	return fmt.Sprintf("one of the %d keys named %q expired at %s: its requests are answered with 401; %d of them can be used", key.Named, key.Name, at, key.Valid)
}
