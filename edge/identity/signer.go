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
	// Metadata is the key of the gRPC metadata that a signed identity comes in.
	Metadata = "mcp-identity"
	// Type is the header typ of a signed identity (RFC 8725, section 3.11): it is no access token.
	Type = "mcp-identity+jwt"
	// Lifetime is for how long one is good.
	Lifetime = time.Minute
)

// Signer signs who is calling one backend. Safe for concurrent use.
type Signer struct {
	// Keys sign.
	Keys *Keys
	// Issuer is the edge, the claim iss, and Audience the backend, the claim aud.
	Issuer, Audience string
	// Claims are the names of those of mcp.Principal.Forwarded that the backend is told; nil: none.
	Claims []string

	signed, failed atomic.Int64
}

// claims of a signed identity. Members without a value are left out.
type claims struct {
	jwt.RegisteredClaims
	// SubjectID is whose subject it is: two issuers may have the same one (RFC 9493, section 3.2.3).
	SubjectID *subjectID `json:"sub_id,omitempty"`
	// SubjectIsClient: the subject is the id of a client that acts for itself, and no user's.
	SubjectIsClient bool `json:"subject_is_client,omitempty"`
	// Transaction is the id of the call (RFC 8417, section 2.2).
	Transaction string `json:"txn,omitempty"`
	Client      string `json:"client_id,omitempty"`
	// Scope has the scopes with spaces between them (RFC 8693, section 4.2).
	Scope string   `json:"scope,omitempty"`
	Roles []string `json:"roles,omitempty"`
	Actor *actor   `json:"act,omitempty"`
	// Chosen are claims of the caller's token, by their names, as its issuer wrote them.
	Chosen map[string]json.RawMessage `json:"claims,omitempty"`
}

type subjectID struct {
	Format string `json:"format"`
	Issuer string `json:"iss"`
	Sub    string `json:"sub"`
}

// actor is who acts for the subject (RFC 8693, section 4.1).
type actor struct {
	Sub string `json:"sub"`
}

// Prove gives the metadata, a key and a value, by which an RPC shows who is calling: a JWT that is good for Lifetime and for
// this backend. txn is the id of the call; empty for a list or a watch. The anonymous caller has one, too, without a subject.
func (s *Signer) Prove(_ context.Context, who *mcp.Principal, txn string) (key, value string, _ error) {
	k := &s.Keys.current.Load().signs
	t := jwt.NewWithClaims(k.method, s.claims(who, txn, time.Now()))
	t.Header["kid"], t.Header["typ"] = k.id, Type
	text, err := t.SignedString(k.private)
	if err != nil {
		s.failed.Add(1)
		return "", "", &mcp.Error{Kind: mcp.KindInternal, Message: "the edge cannot sign who is calling", Err: err}
	}
	s.signed.Add(1)
	return Metadata, text, nil
}

// Signed and Failed are how many identities were signed, and could not be.
func (s *Signer) Signed() int64 { return s.signed.Load() }

// Failed is how many could not be signed.
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
