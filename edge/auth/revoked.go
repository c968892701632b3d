package auth

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Revoked returns an error if the API key of a principal is not valid any more: it is not in the
// file as this replica last read it, or has expired by the file. nil means that it is valid, with
// any rights. It is also nil for other credentials, which only their issuer can revoke:
// Principal.Until is their expiry.
func (a *Authenticator) Revoked(p *mcp.Principal) error {
	if p.Issuer != APIKeyIssuer {
		return nil
	}
	var d digest
	id, err := hex.DecodeString(p.TokenID)
	if a.keys == nil || err != nil || copy(d[:], id) != len(d) {
		return fmt.Errorf("the API key %q with which it was made is unknown", p.Subject)
	}
	now, ok := (*a.keys.current.Load())[d]
	switch {
	case !ok || now.Subject != p.Subject:
		return fmt.Errorf("the API key %q with which it was made is no longer in the file of keys", p.Subject)
	case expired(now.Until):
		return fmt.Errorf("the API key %q with which it was made has expired at %s", p.Subject, now.Until.UTC().Format(time.RFC3339))
	}
	return nil
}
