package identity

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

const (
	// Metadata is the gRPC metadata key of a signed identity.
	Metadata = "mcp-identity"
	// Type is the header typ of a signed identity (RFC 8725, section 3.11). It is not an access
	// token.
	Type = "mcp-identity+jwt"
	// Lifetime is how long an identity is valid.
	Lifetime = time.Minute
)

// Signer signs callers' identities for one backend. It is safe for concurrent use.
type Signer struct {
	// Keys are the signing keys.
	Keys *Keys
	// Issuer names the edge (claim iss), Audience the backend (claim aud).
	Issuer, Audience string
	// Claims are the names in mcp.Principal.Forwarded that are included. nil means none.
	Claims []string

	signed, failed atomic.Int64
}

// claims are those of a signed identity. Empty fields are omitted.
type claims struct {
	jwt.RegisteredClaims
	// SubjectID qualifies the subject by its issuer, because two issuers may have the same subject
	// (RFC 9493, section 3.2.3).
	SubjectID *subjectID `json:"sub_id,omitempty"`
	// SubjectIsClient is true if the subject is a client that acts for itself, not a user.
	SubjectIsClient bool `json:"subject_is_client,omitempty"`
	// Transaction is the id of the call (RFC 8417, section 2.2).
	Transaction string `json:"txn,omitempty"`
	Client      string `json:"client_id,omitempty"`
	// Scope has the scopes, separated by spaces (RFC 8693, section 4.2).
	Scope string   `json:"scope,omitempty"`
	Roles []string `json:"roles,omitempty"`
	Actor *actor   `json:"act,omitempty"`
	// Chosen are claims of the caller's token, by name, unchanged.
	Chosen map[string]json.RawMessage `json:"claims,omitempty"`
}

type subjectID struct {
	Format string `json:"format"`
	Issuer string `json:"iss"`
	Sub    string `json:"sub"`
}

// actor is the party that acts for the subject (RFC 8693, section 4.1).
type actor struct {
	Sub string `json:"sub"`
}

// Prove returns the metadata that identifies the caller in an RPC to the backend: a JWT that is
// valid for Lifetime and for this backend. txn is the id of the call; empty for a list or a watch.
// An anonymous caller gets a JWT without a subject.
func (s *Signer) Prove(_ context.Context, who *mcp.Principal, txn string) (key, value string, _ error) {
	k := &s.Keys.current.Load().signs
	t := jwt.NewWithClaims(k.method, s.claims(who, txn, time.Now()))
	t.Header["kid"], t.Header["typ"] = k.id, Type
	text, err := t.SignedString(k.private)
	if err != nil {
		s.failed.Add(1)
		return "", "", &mcp.Error{Kind: mcp.KindInternal, Message: "the edge cannot sign the caller's identity", Err: err}
	}
	s.signed.Add(1)
	return Metadata, text, nil
}

// Signed returns how many identities were signed.
func (s *Signer) Signed() int64 { return s.signed.Load() }

// Failed returns how many identities could not be signed.
func (s *Signer) Failed() int64 { return s.failed.Load() }

func (s *Signer) claims(who *mcp.Principal, txn string, now time.Time) *claims {
	c := &claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: s.Issuer, Audience: jwt.ClaimStrings{s.Audience}, Subject: who.Subject,
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(Lifetime)),
		},
		SubjectIsClient: who.SubjectIsClient, Transaction: txn, Client: who.Client, Scope: strings.Join(who.Scopes, " "), Roles: who.Roles,
	}
	if who.Anonymous() {
		return c
	}
	c.SubjectID = &subjectID{"iss_sub", who.Issuer, who.Subject}
	if who.Actor != "" {
		c.Actor = &actor{who.Actor}
	}
	for _, name := range s.Claims {
		if v, ok := who.Forwarded[name]; ok {
			if c.Chosen == nil {
				c.Chosen = make(map[string]json.RawMessage, len(s.Claims))
			}
			c.Chosen[name] = v
		}
	}
	return c
}
