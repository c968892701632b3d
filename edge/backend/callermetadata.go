package backend

import (
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// CallerMetadata is a key of gRPC metadata whose value depends on the caller.
type CallerMetadata struct {
	// Key is lower case.
	Key   string
	Value CallerValue
}

// CallerValue returns a text for each caller. It must be safe for concurrent use.
type CallerValue interface {
	// String names the value in errors.
	fmt.Stringer
	// Of returns the caller's value, or an empty text and an error if it has none.
	Of(who *mcp.Principal) (string, error)
	// Claims are the names of the claims, of Principal.Forwarded, on which the value depends.
	Claims() []string
}

// CallerPairs returns the metadata of an RPC for a caller, each key before its value, or nil if
// there is none. The error, a *mcp.Error, means that the caller lacks a required value. An
// anonymous caller may get the value with credentials.
func (b *Backend) CallerPairs(who *mcp.Principal) ([]string, error) {
	if len(b.cfg.Caller) == 0 {
		return nil, nil
	}
	pairs := make([]string, 0, 2*len(b.cfg.Caller))
	for _, m := range b.cfg.Caller {
		value, err := m.Value.Of(who)
		why := mcp.NotMetadataValue(value)
		switch {
		case err != nil:
			why = "the caller does not have: " + err.Error()
		case value == "":
			why = "the caller does not have"
		}
		switch {
		case why == "":
		case who.Anonymous():
			return nil, &mcp.Error{
				Kind: mcp.KindUnauthenticated, Challenge: &mcp.Challenge{Anonymous: true},
				Message: fmt.Sprintf("the backend %q requires %s, which %s: call with credentials", b.cfg.Name, m.Value, why),
			}
		default:
			return nil, mcp.Errorf(mcp.KindForbidden, "the backend %q requires %s, which %s", b.cfg.Name, m.Value, why)
		}
		pairs = append(pairs, m.Key, value)
	}
	return pairs, nil
}

// forwardedClaims returns the names of the callers' claims on which the backend's answers may
// depend, sorted, without duplicates.
func (c *Config) forwardedClaims() []string {
	out := slices.Clone(c.Claims)
	for _, m := range c.Caller {
		out = append(out, m.Value.Claims()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Headers are the canonical names of the headers of clients' HTTP requests that calls forward as
// metadata; nil forwards none.
func (b *Backend) Headers() []string { return b.cfg.Headers }
