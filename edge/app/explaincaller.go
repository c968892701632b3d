package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// caller returns the principal of the question.
func (q *Question) caller(cfg *config.Config) (who mcp.Principal, err error) {
	if q.APIKey == "" {
		who, err = claimant(cfg, q.Claims)
	} else {
		who, q.others, err = keyHolder(cfg, q.APIKey)
	}
	if err != nil {
		return who, fmt.Errorf("policy: %w", err)
	}
	return who, nil
}

// KeyHolder returns the principal for a value of the flag --api-key, the name of a key in the file
// auth.api-keys.
func KeyHolder(cfg *config.Config, name string) (mcp.Principal, error) {
	who, _, err := keyHolder(cfg, name)
	return who, err
}

// keyHolder is KeyHolder. others describes the other entries of the name; empty means none.
func keyHolder(cfg *config.Config, name string) (who mcp.Principal, others string, err error) {
	if cfg.Auth == nil || cfg.Auth.APIKeys == "" {
		return who, "", errors.New("--api-key: the settings have no auth.api-keys")
	}
	keys, err := readAPIKeys(cfg.Auth.APIKeys)
	if err != nil {
		return who, "", fmt.Errorf("auth.api-keys: %w", err)
	}
	if n := entryOf(keys, name); n >= 0 {
		return keys[n].Principal(cfg.ForwardedClaims()...), otherEntries(keys, n), nil
	}
	names := make([]string, 0, len(keys))
	for i := range keys {
		names = append(names, keys[i].Name)
	}
	if meant := config.Nearest(name, names); meant != "" {
		return who, "", fmt.Errorf("--api-key: %s has no key named %q: did you mean %q?", cfg.Auth.APIKeys, name, meant)
	}
	return who, "", fmt.Errorf("--api-key: %s has no key named %q", cfg.Auth.APIKeys, name)
}

// ReadClaims reads the claims of a token, the value of a flag --claims, from JSON, which begins as
// an object does, or from a file.
func ReadClaims(given string) (json.RawMessage, error) {
	raw, from := []byte(given), "the JSON given"
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		var err error
		if raw, err = os.ReadFile(given); err != nil { // #nosec G304 G703 -- the operator names the file
			return nil, fmt.Errorf("--claims: %w", err)
		}
		from = given
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, fmt.Errorf("--claims: %s is not a JSON object: give the claims of a token, decoded", from)
	}
	return raw, nil
}

// Claimant returns the principal for a value of the flag --claims. It verifies nothing.
func Claimant(cfg *config.Config, given string) (mcp.Principal, error) {
	claims, err := ReadClaims(given)
	if err != nil {
		return mcp.Principal{}, err
	}
	return claimant(cfg, claims)
}

// Caller returns the principal for the values of the flags --claims and --api-key. At most one of
// them may be given. Without both it is anonymous.
func Caller(cfg *config.Config, claims, apiKey string) (mcp.Principal, error) {
	switch {
	case claims != "" && apiKey != "":
		return mcp.Principal{}, errors.New("--claims and --api-key are two callers: give one of them")
	case claims != "":
		return Claimant(cfg, claims)
	case apiKey != "":
		return KeyHolder(cfg, apiKey)
	}
	return mcp.Principal{}, nil
}

// entryOf returns the index of the first key with a name that has not expired, or else of the first
// key with the name, or -1.
func entryOf(keys []auth.APIKey, name string) int {
	named := func(k auth.APIKey) bool { return k.Name == name }
	if n := slices.IndexFunc(keys, func(k auth.APIKey) bool { return named(k) && !hasExpired(k.Expires) }); n >= 0 {
		return n
	}
	return slices.IndexFunc(keys, named)
}

// otherEntries describes the other keys with the name of the key at index n. It is empty if there
// are none.
func otherEntries(keys []auth.APIKey, n int) string {
	var all []string
	for i := range keys {
		if k := &keys[i]; i != n && k.Name == keys[n].Name {
			all = append(all, fmt.Sprintf("entry %d of the file %s", i+1, expiryText(k.Expires)))
		}
	}
	if all == nil {
		return ""
	}
	return fmt.Sprintf("%s; this is the answer for entry %d", strings.Join(all, ", "), n+1)
}

// expiryText says when a key expires or has expired.
func expiryText(at time.Time) string {
	switch {
	case at.IsZero():
		return "does not expire"
	case hasExpired(at):
		return "expired at " + at.UTC().Format(time.RFC3339)
	}
	return "expires at " + at.UTC().Format(time.RFC3339)
}

// hasExpired reports whether at has passed. Zero means never.
func hasExpired(at time.Time) bool { return !at.IsZero() && !time.Now().Before(at) }

// claimant returns the principal for claims, a JSON object, by the settings of their issuer. If
// their issuer is not configured, it uses the settings of the first one. Without claims, or with
// empty ones, the principal is anonymous.
func claimant(cfg *config.Config, claims json.RawMessage) (mcp.Principal, error) {
	if len(claims) == 0 {
		return mcp.Principal{}, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(claims, &members); err != nil || len(members) == 0 {
		return mcp.Principal{}, err
	}
	var name string
	_ = json.Unmarshal(members["iss"], &name) // empty if it names none
	i := auth.Issuer{URL: name}
	if cfg.Auth != nil {
		for n := range cfg.Auth.Issuers {
			if one := &cfg.Auth.Issuers[n]; n == 0 || one.Issuer == name {
				i = issuerOf(one)
			}
		}
	}
	who, err := i.Principal(claims, cfg.ForwardedClaims()...)
	if err != nil {
		return who, fmt.Errorf("--claims: %w", err)
	}
	return who, nil
}

// reportRefusals writes to out, as one line each, the reasons for which the edge would refuse the
// caller's credentials, or would identify it as another caller. refused reports whether the edge
// would respond with 401.
func (q *Question) reportRefusals(cfg *config.Config, who *mcp.Principal, out io.Writer) (refused bool) {
	note := func(format string, args ...any) { _, _ = fmt.Fprintf(out, "note    "+format+"\n", args...) }
	switch {
	case q.APIKey != "":
		if q.others != "" {
			note("the API key %q has other entries: %s", q.APIKey, q.others)
		}
		if hasExpired(who.Until) {
			note("the API key %q expired at %s: the edge answers its requests with 401, and no rule decides on them", q.APIKey, who.Until.UTC().Format(time.RFC3339))
			return true
		}
	case cfg.Auth == nil && !who.Anonymous():
		note("there is no auth: the edge reads no token, and takes every caller for anonymous, as --claims {} does")
	case cfg.Auth == nil:
	case who.Anonymous():
		if !cfg.Auth.Optional {
			note("auth.optional is not set: the edge answers requests without credentials with 401, and no rule decides on them")
			return true
		}
	default:
		for _, why := range tokenRefusals(cfg, q.Claims, q.endpoint()) {
			note("the edge answers a token with these claims with 401, and no rule decides: %s", why)
			refused = true
		}
	}
	return refused
}

// tokenRefusals returns the reasons for which a token with these claims is refused at an endpoint,
// or for which that is unknown.
func tokenRefusals(cfg *config.Config, claims json.RawMessage, endpoint string) []error {
	if len(cfg.Auth.Issuers) == 0 {
		return []error{errors.New("auth.issuers has none")}
	}
	a, err := newAuth(cfg, nil, nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return []error{fmt.Errorf("auth cannot be used: %w", err)}
	}
	sets, err := cfg.OpenSets()
	if err == nil {
		err = a.SetSets(authSets(&config.Generation{Config: *cfg, Sets: sets}))
	}
	if err != nil {
		return []error{fmt.Errorf("the sets cannot be used: %w", err)}
	}
	return a.Refusals(claims, endpoint)
}
