package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// toolPrefix matches the valid prefixes. MCP clients accept tool names of 1 to 64 of these
// characters, so one is left for the name.
var toolPrefix = regexp.MustCompile(`^[A-Za-z0-9_./-]{0,63}$`)

// webSchemes are schemes that users write before the address of a gRPC server, although gRPC does
// not know them. true means with TLS.
var webSchemes = map[string]bool{
	"http": false, "h2c": false, "grpc": false, "tcp": false,
	"https": true, "h2": true, "grpcs": true, "tls": true,
}

// validateTarget checks the Target and the Prefix of a backend.
func (b *Backend) validateTarget(i int) (errs []error) {
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("backends[%d] %s: "+format, append([]any{i, b.Name}, args...)...))
	}
	if why := notTarget(b.Target, "this backend"); why != "" {
		wrong("%s", why)
	}
	if !toolPrefix.MatchString(b.Prefix) {
		wrong("prefix %q: use at most 63 letters, digits, and _ . - /, since MCP clients accept no other names of tools", b.Prefix)
	}
	b.validateURIs(wrong)
	return errs
}

// maxURIs and maxURIBytes bound the URI prefixes of one backend: their number and their lengths.
const maxURIs, maxURIBytes = 256, 4 << 10

// uriPrefix matches a text that begins with a scheme.
var uriPrefix = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// validateURIs calls of for each mistake in the URIs of a backend.
func (b *Backend) validateURIs(of wrongs) {
	wrong := func(format string, args ...any) { of("uris: "+format, args...) }
	if len(b.URIs) > maxURIs {
		wrong("there are %d: give at most %d", len(b.URIs), maxURIs)
	}
	for at, uri := range b.URIs {
		switch {
		case !uriPrefix.MatchString(uri):
			wrong("%.80q begins with no scheme: write the beginning of URIs, as docs://desk/", uri)
		case len(uri) > maxURIBytes:
			wrong("%.80q… has %d bytes: give at most %d", uri, len(uri), maxURIBytes)
		case strings.ContainsAny(uri, "{}"):
			wrong("%.80q looks like a template: write the beginning of URIs without variables", uri)
		case slices.Contains(b.URIs[:at], uri):
			wrong("%.80q is there twice: give it once", uri)
		}
	}
}

// grpcSchemes are the schemes for which gRPC has a resolver.
var grpcSchemes = map[string]bool{"dns": true, "passthrough": true, "unix": true, "unix-abstract": true}

// notTarget returns why a text is not a gRPC target, or an empty string if it is. what names the
// server in the text.
func notTarget(target, what string) string {
	if target == "" {
		return "target is missing: give a gRPC target such as host:port"
	}
	scheme, rest, found := strings.Cut(target, "://")
	if !found || grpcSchemes[strings.ToLower(scheme)] {
		if why := largePortIn(target); why != "" {
			return fmt.Sprintf("target %q %s", target, why)
		}
		return ""
	}
	secure, web := webSchemes[strings.ToLower(scheme)]
	if !web {
		return fmt.Sprintf("target %q has the scheme %.20q, which is not resolved here: use %s", target, scheme, strings.Join(slices.Sorted(maps.Keys(grpcSchemes)), ", "))
	}
	host, path, _ := strings.Cut(rest[strings.LastIndex(rest, "@")+1:], "/")
	advice := fmt.Sprintf("write %s", host)
	if secure {
		advice += fmt.Sprintf(", and tls: {} for %s in the configuration file", what)
	}
	if path != "" {
		advice += ", without a path"
	}
	return fmt.Sprintf("target %q is a URL, where gRPC takes an address: %s", target, advice)
}
