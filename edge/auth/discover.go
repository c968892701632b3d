package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// serverMetadata is what is read of an authorization server's metadata.
type serverMetadata struct {
	Issuer string `json:"issuer"`
	JWKS   string `json:"jwks_uri"`
	Token  string `json:"token_endpoint"`
}

// wellKnown are the places of an issuer's metadata: OpenID Connect Discovery 1.0, section 4, which appends to the
// issuer's path, then RFC 8414, section 3.1, which inserts before it.
func wellKnown(issuer string) ([]string, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	path := strings.TrimRight(u.Path, "/")
	openID, oauth := *u, *u
	openID.Path, oauth.Path = path+"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"+path
	return []string{openID.String(), oauth.String()}, nil
}

// discover finds the URL of an issuer's keys.
func discover(ctx context.Context, c *http.Client, issuer string) (jwks string, err error) {
	return discoverAny(ctx, c, issuer, "jwks_uri", func(m *serverMetadata) string { return m.JWKS })
}

// discoverTokens finds the URL where an issuer gives tokens.
func discoverTokens(ctx context.Context, c *http.Client, issuer string) (tokens string, err error) {
	return discoverAny(ctx, c, issuer, "token_endpoint", func(m *serverMetadata) string { return m.Token })
}

// discoverAny finds a member of an issuer's metadata that is a URL.
func discoverAny(ctx context.Context, c *http.Client, issuer, name string, of func(*serverMetadata) string) (string, error) {
	places, err := wellKnown(issuer)
	if err != nil {
		return "", err
	}
	var errs []error
	for _, place := range places {
		m, _, err := readMetadata(ctx, c, place, issuer)
		if err == nil {
			if found := of(&m); usable(found, issuer) {
				return found, nil
			}
			err = fmt.Errorf("%s has no %s that can be read: %.200q", place, name, of(&m))
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("its metadata cannot be read: %w", errors.Join(errs...))
}

// usable says whether a URL of an issuer's metadata may be asked: over https, unless the issuer is not either.
func usable(text, issuer string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && !strings.HasPrefix(issuer, "https:"))
}

// readMetadata reads a document of an issuer, and what of it is used here.
func readMetadata(ctx context.Context, c *http.Client, place, issuer string) (m serverMetadata, raw []byte, err error) {
	if raw, err = get(ctx, c, place); err != nil {
		return m, nil, err
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, nil, fmt.Errorf("%s is no metadata: %w", place, err)
	}
	// RFC 8414, section 3.3: else one issuer could speak for another.
	if m.Issuer != issuer {
		return m, nil, fmt.Errorf("%s is the metadata of %.200q, not of %q: write the issuer as it does", place, m.Issuer, issuer)
	}
	return m, raw, nil
}
