package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/identity"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// identities returns how the caller is identified to a backend; nil means by the contract's
// Principal alone.
type identities func(*config.Backend) backend.Identity

// shownNothing is for code that only lists what backends have.
func shownNothing(*config.Backend) backend.Identity { return nil }

// identityWays are the means to identify callers to backends.
type identityWays struct {
	keys *identity.Keys // nil signs nothing
	// signers are those of the backends with identity: signed, by name.
	signers map[string]*identity.Signer
}

// edgeName is the issuer of signed identities if the edge has no URL.
const edgeName = "mcpedge"

// openIdentity reads the signing key, if there is one.
func (a *App) openIdentity() (err error) {
	a.identity.signers = map[string]*identity.Signer{}
	if a.cfg.IdentityKey == "" {
		return nil
	}
	a.identity.keys, err = openKeys(&a.cfg, a.log)
	return err
}

func openKeys(cfg *config.Config, log *slog.Logger) (*identity.Keys, error) {
	keys, err := identity.Open(func() ([]byte, error) { return os.ReadFile(cfg.IdentityKey) }, log)
	if err != nil {
		return nil, fmt.Errorf("identity-key: %s: %w", cfg.IdentityKey, err)
	}
	return keys, nil
}

// signing returns the identities for calls without a running edge, signed ones included.
func signing(cfg *config.Config, log *slog.Logger) (identities, error) {
	a := &App{cfg: *cfg, log: log}
	return a.identityOf, a.openIdentity()
}

// identityOf returns how the caller is identified to a backend.
func (a *App) identityOf(b *config.Backend) backend.Identity {
	switch {
	case b.Identity == config.IdentityExchange && a.auth == nil:
		return nobody{}
	case b.Identity == config.IdentityExchange:
		return a.auth.Exchanger(wantedBy(b))
	case b.Identity != config.IdentitySigned:
		return nil
	}
	s := &identity.Signer{
		Keys: a.identity.keys, Issuer: cmp.Or(a.cfg.PublicURLOrListen(), edgeName), Audience: b.Name, Claims: b.Claims,
	}
	a.identity.signers[b.Name] = s
	return s
}

var _ backend.AskedIdentity = (*auth.Exchanger)(nil)

// wantedBy returns the token that a backend gets for callers.
func wantedBy(b *config.Backend) auth.Wanted {
	w := auth.Wanted{Backend: b.Name, Audience: b.Name}
	if x := b.Exchange; x != nil {
		w.Resource, w.Scopes = x.Resource, x.Scopes
		if x.Audience != "" || x.Resource != "" {
			w.Audience = x.Audience
		}
	}
	return w
}

// nobody is the identity for calls without a caller whose token could be exchanged.
type nobody struct{}

// Prove implements backend.Identity.
func (nobody) Prove(context.Context, *mcp.Principal, string) (key, value string, err error) {
	return "", "", mcp.Errorf(mcp.KindForbidden, "it has identity: exchange, and there is no caller whose token could be exchanged")
}

// jwks returns what the admin address serves; nil serves nothing.
func (a *App) jwks() func() []byte {
	if a.identity.keys == nil {
		return nil
	}
	return a.identity.keys.JWKS
}

// observeIdentity registers the counters of signatures with telemetry.
func (a *App) observeIdentity() []error {
	keys := a.identity.keys
	if keys == nil {
		return nil
	}
	return []error{
		a.telemetry.Observe(telemetry.IdentitySigned, func(emit telemetry.Emit) {
			for name, s := range a.identity.signers {
				emit(float64(s.Signed()), telemetry.AttrBackend.String(name), telemetry.AttrOutcome.String("ok"))
				emit(float64(s.Failed()), telemetry.AttrBackend.String(name), telemetry.AttrOutcome.String("error"))
			}
		}),
		a.telemetry.Observe(telemetry.IdentityStale, func(emit telemetry.Emit) { emit(one(keys.Stale())) }),
	}
}

// CheckIdentity reads the key that signs for backends and writes to out which it is. Without the
// setting it writes nothing.
func CheckIdentity(cfg config.Config, out io.Writer) error {
	if cfg.IdentityKey == "" {
		return nil
	}
	keys, err := openKeys(&cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "ok      identity-key: %s signs, key id %s\n", cfg.IdentityKey, keys.ID())
	return nil
}
