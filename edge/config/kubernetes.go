package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Kubernetes discovers backends among the Services of the cluster that the edge runs in.
type Kubernetes struct {
	// Selector of labels; empty means mcpedge.io/backend=true.
	Selector string `yaml:"selector"`
	// Namespaces to watch; empty means that of the edge's pod.
	Namespaces Names `yaml:"namespaces"`
	// Prefix is prepended to the names of each Service's tools and prompts; {namespace} and
	// {service} are replaced by those of the Service. nil means DefaultPrefix, with a warning for
	// each Service; empty adds none. A Service cannot choose it.
	Prefix *string `yaml:"prefix"`
	// Reflect allows Services to set KindReflect by annotation.
	Reflect bool `yaml:"reflect"`
	// TLS towards Services that enable it by annotation; its ServerName is not used. nil verifies
	// by the system's roots and sends no client certificate.
	TLS *TLS `yaml:"tls"`
	// Metadata is added to the calls of each Service, as that of a Backend, without values from
	// files; empty adds none.
	Metadata map[string]MetadataValue `yaml:"metadata"`
	// ForwardHeaders are forwarded to each Service, as those of a Backend; empty forwards none.
	ForwardHeaders Names `yaml:"forward-headers"`
	// Backends are settings of discovered backends by their names. A key is taken from the first entry
	// that matches and sets it, and last from the settings above. Empty leaves the defaults. See
	// Config.Discovered.
	Backends []Backend `yaml:"backends"`
}

// namespaceName matches the name of a namespace.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (k *Kubernetes) validate() (errs []error) {
	if k == nil {
		return nil
	}
	for _, n := range k.Namespaces {
		if !namespaceName.MatchString(n) {
			errs = append(errs, fmt.Errorf("kubernetes.namespaces: %q is not a name of a namespace: use at most 63 lower-case letters, digits and -", n))
		}
	}
	if k.Prefix != nil && !ValidPrefix(k.PrefixOf("a", "a")) {
		errs = append(errs, fmt.Errorf("kubernetes.prefix: %q: use letters, digits, and _ . - /, with {namespace} and {service} for those of the Service", *k.Prefix))
	}
	if t := k.TLS; t != nil && (t.Cert == "") != (t.Key == "") {
		errs = append(errs, fmt.Errorf("kubernetes.tls: cert and key go together: give both or none"))
	}
	if k.TLS != nil && k.TLS.ServerName != "" {
		errs = append(errs, fmt.Errorf("kubernetes.tls: server-name: %q: take it out, each Service has its own name, service.namespace.svc", k.TLS.ServerName))
	}
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("kubernetes: "+format, args...)) }
	for _, key := range slices.Sorted(maps.Keys(k.Metadata)) {
		if k.Metadata[key].File != "" {
			wrong("metadata.%s: file: every user who may label a Service would receive it: name the backend that is to have it among backends, with its metadata", key)
		}
	}
	k.Backend().validateMetadata(wrong)
	return errs
}

// Backend returns the settings of Services that have the meaning of a Backend's.
func (k *Kubernetes) Backend() *Backend {
	return &Backend{Metadata: k.Metadata, ForwardHeaders: k.ForwardHeaders}
}

// DefaultPrefix is the prefix if Kubernetes.Prefix is nil. A namespace's name has no "_", so the
// names of two namespaces never collide.
const DefaultPrefix = "{namespace}_"

// PrefixOf returns the prefix of a Service. It is not validated, see ValidPrefix.
func (k *Kubernetes) PrefixOf(namespace, service string) string {
	prefix := DefaultPrefix
	if k.Prefix != nil {
		prefix = *k.Prefix
	}
	return filled(prefix, namespace, service)
}

// filled returns a prefix with the names of a Service.
func filled(prefix, namespace, service string) string {
	return strings.NewReplacer("{namespace}", namespace, "{service}", service).Replace(prefix)
}

// HasBackends reports whether backends other than the bundled ones are configured or may be
// discovered.
func (c *Config) HasBackends() bool { return len(c.Backends) > 0 || c.Kubernetes != nil }

// ServesDemo reports whether the bundled services are served: if Demo is set, or if neither a file
// nor a flag configures backends.
func (c *Config) ServesDemo() bool { return c.Demo || c.File == "" && !c.HasBackends() }

// NothingServed returns an error if the settings leave the edge nothing to serve, else nil.
func (c *Config) NothingServed() error {
	if c.HasBackends() || c.ServesDemo() {
		return nil
	}
	return fmt.Errorf("config %s: there is no backend: name some under backends, or serve the bundled demo with demo: true", c.File)
}

// ValidPrefix reports whether a text may be a backend's Prefix.
func ValidPrefix(prefix string) bool { return toolPrefix.MatchString(prefix) }
