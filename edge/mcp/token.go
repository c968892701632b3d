package mcp

import (
	"context"
	"errors"
)

// Token is the access token that a request came with, for whoever exchanges it while the request is served. It goes with
// contexts alone: no record, no Principal and no log has one, and it prints as nothing. The zero value is none.
type Token struct {
	// text is behind a pointer, which is all that formatting shows of what a Token is a member of.
	text *string
}

// NewToken is a token; none if text is empty.
func NewToken(text string) Token {
	if text == "" {
		return Token{}
	}
	return Token{&text}
}

// IsZero says that there is none.
func (t Token) IsZero() bool { return t.text == nil }

// Reveal is the token itself, to be sent to its issuer and to nobody else; empty: there is none.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// String implements fmt.Stringer: it shows nothing.
func (t Token) String() string { return "[token]" }

// ErrNoToken says that a call whose caller could have been known by a token has none any more: the replica that had it was
// lost, and no record has it.
var ErrNoToken = errors.New("the access token of the call is not known any more")

type tokenKey struct{}

// WithToken is ctx with the token of the request that is served with it; ctx, if there is none.
func WithToken(ctx context.Context, t Token) context.Context {
	if t.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, tokenKey{}, t)
}

// TokenOf is the token of the request that is served with a context.
func TokenOf(ctx context.Context) Token {
	t, _ := ctx.Value(tokenKey{}).(Token)
	return t
}
