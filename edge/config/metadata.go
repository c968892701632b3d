package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// MetadataValue is the value of a key of gRPC metadata. Exactly one member is set.
type MetadataValue struct {
	// Value is sent unchanged. Secrets belong in a file.
	Value string `yaml:"value"`
	// File contains the value; surrounding space is removed. It is read again when it changes.
	File string `yaml:"file" names:"file"`
	// From is a CEL expression over the variable principal of policies. It results in a text, a
	// number or a boolean, such as principal.claims.tenant or "team-" + principal.roles[0], or in a
	// list of texts, such as principal.roles, which is joined with spaces. A caller without the
	// value is refused.
	From string `yaml:"from"`
}

const (
	// maxMetadata bounds the keys of one backend, maxForwarded its forwarded headers.
	maxMetadata, maxForwarded = 32, 32
)

var metadataKey = regexp.MustCompile(`^[0-9a-z_.-]{1,128}$`)

// ForwardedClaims returns the claims of callers' tokens that are sent to the backend, in the
// contract's Principal or in metadata, without duplicates.
func (b *Backend) ForwardedClaims() Names {
	out := slices.Clone(b.Claims)
	for _, v := range b.Metadata {
		if v.From == "" {
			continue
		}
		if from, err := policy.CompileValue(v.From); err == nil {
			out = append(out, from.Claims()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ForwardedClaims returns the claims of callers' tokens that are sent to any backend, including
// those in arguments, or to any hook, without duplicates.
func (c *Config) ForwardedClaims() (out Names) {
	out = c.Catalog.pinnedClaims()
	c.inForce(func(_ *Include, p *part) { out = append(out, p.catalog().pinnedClaims()...) })
	for i := range c.Backends {
		out = append(out, c.Backends[i].ForwardedClaims()...)
	}
	if c.Kubernetes != nil {
		out = append(out, c.Kubernetes.Backend().ForwardedClaims()...)
	}
	for _, b := range c.serviceEntries() {
		out = append(out, b.ForwardedClaims()...)
	}
	for i := range c.Hooks {
		out = append(out, c.Hooks[i].Claims...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// validateMetadata calls wrong for each mistake in the metadata of the backend.
func (b *Backend) validateMetadata(wrong wrongs) {
	if len(b.Metadata) > maxMetadata {
		wrong("metadata: there are %d keys: give at most %d", len(b.Metadata), maxMetadata)
	}
	for _, key := range slices.Sorted(maps.Keys(b.Metadata)) {
		if why := b.notMetadata(key); why != "" {
			wrong("metadata.%s: the key %s", key, why)
		}
		v := b.Metadata[key]
		switch {
		case set(v.Value)+set(v.File)+set(v.From) != 1:
			wrong("metadata.%s: give one of value, file and from", key)
		case mcp.NotMetadataValue(v.Value) != "":
			wrong("metadata.%s: value: it %s", key, mcp.NotMetadataValue(v.Value))
		case v.From != "":
			if _, err := policy.CompileValue(v.From); err != nil {
				wrong("metadata.%s: from: %w; for a fixed text write value in place of from", key, err)
			}
		}
	}
	if len(b.ForwardHeaders) > maxForwarded {
		wrong("forward-headers: there are %d: name at most %d", len(b.ForwardHeaders), maxForwarded)
	}
	for at, name := range b.ForwardHeaders {
		key := strings.ToLower(name)
		_, isSet := b.Metadata[key]
		switch why := b.notMetadata(key); {
		case why != "":
			wrong("forward-headers: %q %s", name, why)
		case isSet:
			wrong("forward-headers: %q is a key of metadata, too: take one of them out", name)
		case notForwarded(key):
			wrong("forward-headers: %q has credentials, or is of the connection between client and edge: it is never passed on", name)
		case slices.ContainsFunc(b.ForwardHeaders[:at], func(other string) bool { return strings.EqualFold(other, name) }):
			wrong("forward-headers: %q is there twice: name each header once", name)
		}
	}
}

// notMetadata returns why a key may not be set, or an empty string if it may.
func (b *Backend) notMetadata(key string) string {
	switch {
	case !metadataKey.MatchString(key):
		return "is not a key of metadata: use 1 to 128 of a-z 0-9 _ . -"
	case strings.HasSuffix(key, "-bin"):
		return "is for bytes, which are not sent: use another"
	case strings.HasPrefix(key, "grpc-") || strings.HasPrefix(key, "mcp-") || slices.Contains(ownMetadata, key):
		return "is set by the edge or by gRPC: use another"
	case key == "authorization" && b.Identity == IdentityExchange:
		return "is set by identity: exchange: take one of them out"
	}
	return ""
}

// ownMetadata are the keys that the edge or gRPC sets.
var ownMetadata = []string{
	"baggage", "connection", "content-length", "content-type", "host", "keep-alive", "te", "traceparent", "tracestate", "trailer", "transfer-encoding",
	"upgrade", "user-agent",
}

// notForwarded reports whether a client's header is never forwarded: it carries credentials, or
// describes the connection, its proxies, its trace or the body.
func notForwarded(key string) bool {
	for _, prefix := range []string{
		"accept", "access-control-", "content-", "forwarded", "proxy-", "sec-", "x-forwarded-", "x-original-", "x-envoy-",
		"ot-", "uber", "x-b3-", "x-datadog-", "x-ot-",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"authentication-info", "authorization", "b3", "cookie", "cookie2", "dpop", "expect", "last-event-id", "origin", "referer", "set-cookie",
		"set-cookie2", "www-authenticate",
		"cf-connecting-ip", "fastly-client-ip", "http2-settings", "max-forwards", "true-client-ip", "via", "x-client-ip", "x-cluster-client-ip", "x-real-ip",
		"sentry-trace", "x-amzn-trace-id", "x-cloud-trace-context",
	}, key)
}

// set returns 1 for a text that is not empty, else 0.
func set(text string) int {
	if text == "" {
		return 0
	}
	return 1
}
