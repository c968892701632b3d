package mcp

import (
	"context"
	"errors"
)

// Token is the access token of a request, for code that exchanges it while the request is served.
// It is only in contexts: no record, Principal or log has one, and it does not print. The zero
// value is none.
type Token struct {
	// text is behind a pointer, so that formatting a value that contains a Token shows only the
	// pointer.
	text *string
}

// NewToken returns a token; the zero Token if text is empty.
func NewToken(text string) Token {
	if text == "" {
		return Token{}
	}
	return Token{&text}
}

// IsZero reports whether the token is absent.
func (t Token) IsZero() bool { return t.text == nil }

// Reveal returns the text of the token, which must be sent to its issuer only. It is empty if the
// token is absent.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// String implements fmt.Stringer without showing the token.
func (t Token) String() string { return "[token]" }

// ErrNoToken means that the token of a call is no longer available, because the replica that had it
// was lost and tokens are not stored.
var ErrNoToken = errors.New("the access token of the call is no longer known")

type tokenKey struct{}

// WithToken returns ctx with the token of the request. It returns ctx itself if the token is
// absent.
func WithToken(ctx context.Context, t Token) context.Context {
	if t.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, tokenKey{}, t)
}

// TokenOf returns the token of the request that is served with a context.
func TokenOf(ctx context.Context) Token {
	t, _ := ctx.Value(tokenKey{}).(Token)
	return t
}
