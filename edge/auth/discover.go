package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// serverMetadata is the used part of an authorization server's metadata.
type serverMetadata struct {
	Issuer string // issuer
	JWKS   string // jwks_uri
	Token  string // token_endpoint
}

// wellKnown returns the URLs of an issuer's metadata: by OpenID Connect Discovery 1.0, section 4,
// appended to the issuer's path, then by RFC 8414, section 3.1, inserted before it.
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

// discover returns the URL of an issuer's keys.
func discover(ctx context.Context, c *http.Client, issuer string) (jwks string, err error) {
	return discoverAny(ctx, c, issuer, "jwks_uri", func(m *serverMetadata) string { return m.JWKS })
}

// discoverTokens returns the URL of an issuer's token endpoint.
func discoverTokens(ctx context.Context, c *http.Client, issuer string) (tokens string, err error) {
	return discoverAny(ctx, c, issuer, "token_endpoint", func(m *serverMetadata) string { return m.Token })
}

// discoverAny returns a URL from an issuer's metadata.
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
			err = fmt.Errorf("%s has no valid %s: %.200q", place, name, of(&m))
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("its metadata cannot be read: %w", errors.Join(errs...))
}

// usable reports whether a URL of an issuer's metadata may be used: it must be https, unless the
// issuer is not.
func usable(text, issuer string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && !strings.HasPrefix(issuer, "https:"))
}

// readMetadata reads a metadata document of an issuer, raw and parsed.
func readMetadata(ctx context.Context, c *http.Client, place, issuer string) (m serverMetadata, raw []byte, err error) {
	if raw, err = get(ctx, c, place); err != nil {
		return m, nil, err
	}
	if err := decodeMembers(raw, map[string]any{"issuer": &m.Issuer, "jwks_uri": &m.JWKS, "token_endpoint": &m.Token}); err != nil {
		return m, nil, fmt.Errorf("%s is not valid metadata: %w", place, err)
	}
	// RFC 8414, section 3.3: otherwise one issuer could impersonate another.
	if m.Issuer != issuer {
		return m, nil, fmt.Errorf("%s is the metadata of %.200q, not of %q: configure the issuer exactly as the metadata names it", place, m.Issuer, issuer)
	}
	return m, raw, nil
}

// noRegistration reports whether the issuer's metadata can be read and has neither a registration
// endpoint (RFC 7591) nor support of Client ID Metadata Documents. It reads nothing if the keys are
// configured: such an issuer may have no metadata.
func (s *source) noRegistration(ctx context.Context) bool {
	places, err := wellKnown(s.issuer)
	if err != nil || s.read != nil || s.jwks != "" {
		return false
	}
	found := false
	for _, place := range places {
		_, raw, err := readMetadata(ctx, s.client, place, s.issuer)
		if err != nil {
			continue
		}
		found = true
		endpoint, documents := "", false
		// A member of another type is as good as none.
		_ = decodeMembers(raw, map[string]any{"registration_endpoint": &endpoint})
		_ = decodeMembers(raw, map[string]any{"client_id_metadata_document_supported": &documents})
		if endpoint != "" || documents {
			return false
		}
	}
	return found
}
