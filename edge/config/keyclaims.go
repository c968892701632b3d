package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// KeyClaims are the claims of an API key by name, each a value that JSON has. nil means none.
type KeyClaims map[string]any

const (
	// maxKeyClaims bounds the number of claims of a key.
	maxKeyClaims = 32
	// maxKeyClaim bounds the JSON of a claim, in bytes. It equals the bound of tokens' claims that
	// are sent to backends.
	maxKeyClaim = 4 << 10
)

// keysOfClaims are claims for which an entry of the file has another key.
var keysOfClaims = map[string]string{
	"iss": "the issuer is mcpedge:api-keys", "sub": "the subject is name", "exp": "write expires",
	"scope": "write scopes", "scp": "write scopes", "scopes": "write scopes", "roles": "write roles",
}

// JSON returns the claims by name, each a JSON value. The claims are valid.
func (c KeyClaims) JSON() map[string]json.RawMessage {
	if len(c) == 0 {
		return nil
	}
	out := make(map[string]json.RawMessage, len(c))
	for name, v := range c {
		raw, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("an invalid claim %q: %v", name, err)) // ParseAPIKeys refuses it
		}
		out[name] = raw
	}
	return out
}

// invalid returns the fault of the claims, or an empty text.
func (c KeyClaims) invalid() string {
	if len(c) > maxKeyClaims {
		return fmt.Sprintf("there are %d, and at most %d are allowed", len(c), maxKeyClaims)
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if !mcp.IsName(name) || len(name) > maxKeyName {
			return fmt.Sprintf("%.80q is not a name of a claim: use 1 to %d bytes of visible characters", name, maxKeyName)
		}
		if instead, ok := keysOfClaims[name]; ok {
			return fmt.Sprintf("%s cannot be given: %s", name, instead)
		}
		if c[name] == nil {
			return name + " has no value: give it one, or leave it out"
		}
		raw, err := json.Marshal(c[name])
		if err != nil {
			return fmt.Sprintf("%s has a value that JSON does not have: %v", name, err)
		}
		if len(raw) > maxKeyClaim {
			return fmt.Sprintf("%s has %d bytes as JSON, and at most %d are allowed", name, len(raw), maxKeyClaim)
		}
	}
	return ""
}

func (c KeyClaims) equal(d KeyClaims) bool {
	return maps.EqualFunc(c.JSON(), d.JSON(), func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// keysHaveClaims reports whether each of the named claims is a claim of an API key. It is also true
// if the file of keys cannot be used, because that is a separate error.
func (c *Config) keysHaveClaims(names []string) bool {
	if c.Auth == nil || c.Auth.APIKeys == "" {
		return false
	}
	raw, err := os.ReadFile(c.Auth.APIKeys)
	if err != nil {
		return true
	}
	keys, err := ParseAPIKeys(raw)
	if err != nil {
		return true
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(keys, func(k APIKey) bool { _, has := k.Claims[name]; return has })
	})
}
