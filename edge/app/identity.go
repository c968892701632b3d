package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/identity"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// identities returns how a backend gets the identity of callers. A nil result means by the
// contract's Principal only.
type identities func(*config.Backend) backend.Identity

// noIdentity is for code that only lists what backends have.
func noIdentity(*config.Backend) backend.Identity { return nil }

// identitySigners are the means to identify callers to backends.
type identitySigners struct {
	keys *identity.Keys // nil signs nothing

	mu sync.Mutex
	// signers are all that were made, so that the counts of a backend continue when it is changed.
	signers []*identity.Signer
}

// signerOf returns the signer of a backend with identity: signed, which is the same for the same
// settings. issuer names the edge.
func (w *identitySigners) signerOf(b *config.Backend, issuer string) *identity.Signer {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.signers {
		if s.Audience == b.Name && slices.Equal(s.Claims, b.Claims) {
			return s
		}
	}
	s := &identity.Signer{Keys: w.keys, Issuer: issuer, Audience: b.Name, Claims: b.Claims}
	w.signers = append(w.signers, s)
	return s
}

// forget drops the signers of backends that are gone, with their counts.
func (w *identitySigners) forget(gone func(backend string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.signers = slices.DeleteFunc(w.signers, func(s *identity.Signer) bool { return gone(s.Audience) })
}

// counts returns the numbers of signed and of failed identities by backend.
func (w *identitySigners) counts() (signed, failed map[string]int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	signed, failed = map[string]int64{}, map[string]int64{}
	for _, s := range w.signers {
		signed[s.Audience] += s.Signed()
		failed[s.Audience] += s.Failed()
	}
	return signed, failed
}

// edgeName is the issuer of signed identities if the edge has no URL.
const edgeName = "mcpedge"

// openIdentity reads the signing key, if there is one.
func (a *App) openIdentity() (err error) {
	if a.cfg.Server.SigningKey == "" {
		return nil
	}
	a.identity.keys, err = openKeys(&a.cfg, a.log)
	return err
}

func openKeys(cfg *config.Config, log *slog.Logger) (*identity.Keys, error) {
	keys, err := identity.Open(func() ([]byte, error) { return os.ReadFile(cfg.Server.SigningKey) }, log)
	if err != nil {
		if _, unread := errors.AsType[*fs.PathError](err); unread {
			return nil, fmt.Errorf("server.signing-key: %w", err)
		}
		return nil, fmt.Errorf("server.signing-key: %s: %w", cfg.Server.SigningKey, err)
	}
	return keys, nil
}

// signing returns the identities for calls without a running edge, signed ones included.
func signing(cfg *config.Config, log *slog.Logger) (identities, error) {
	a := &App{cfg: *cfg, log: log}
	return a.identityOf, a.openIdentity()
}

// identityOf returns how a backend gets the identity of callers.
func (a *App) identityOf(b *config.Backend) backend.Identity {
	switch {
	case b.Identity == config.IdentityExchange && a.auth == nil:
		return noCaller{}
	case b.Identity == config.IdentityExchange:
		return a.auth.Exchanger(wantedToken(b))
	case b.Identity != config.IdentitySigned:
		return nil
	}
	return a.identity.signerOf(b, cmp.Or(a.cfg.PublicURLOrListen(), edgeName))
}

var _ backend.AskedIdentity = (*auth.Exchanger)(nil)

// wantedToken returns the token that a backend gets for callers.
func wantedToken(b *config.Backend) auth.Wanted {
	w := auth.Wanted{Backend: b.Name, Audience: b.Name}
	if x := b.Exchange; x != nil {
		w.Resource, w.Scopes = x.Resource, x.Scopes
		if x.Audience != "" || x.Resource != "" {
			w.Audience = x.Audience
		}
	}
	return w
}

// noCaller is the identity for calls without a caller whose token could be exchanged.
type noCaller struct{}

// Prove implements backend.Identity.
func (noCaller) Prove(context.Context, *mcp.Principal, string) (key, value string, err error) {
	return "", "", mcp.Errorf(mcp.KindForbidden, "it has identity: exchange, and there is no caller whose token could be exchanged")
}

// jwks returns a function that returns the public keys for the admin address, or nil without keys.
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
			signed, failed := a.identity.counts()
			for name, n := range signed {
				emit(float64(n), telemetry.AttrBackend.String(name), telemetry.AttrOutcome.String("ok"))
				emit(float64(failed[name]), telemetry.AttrBackend.String(name), telemetry.AttrOutcome.String("error"))
			}
		}),
		a.telemetry.Observe(telemetry.IdentityStale, func(emit telemetry.Emit) { emit(one(keys.Stale())) }),
	}
}

// CheckIdentity reads the key that signs for backends and writes to out which it is. Without the
// setting it writes nothing.
func CheckIdentity(cfg config.Config, out io.Writer) error {
	if cfg.Server.SigningKey == "" {
		return nil
	}
	keys, err := openKeys(&cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "ok      server.signing-key: %s signs, key id %s\n", cfg.Server.SigningKey, keys.ID())
	return nil
}
