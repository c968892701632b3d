package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Kubernetes has Services of the cluster that the edge runs in be backends while they have a label.
type Kubernetes struct {
	// Selector of labels; empty: mcpedge.io/backend=true.
	Selector string `yaml:"selector"`
	// Namespaces that are looked at; empty: that of the edge's pod.
	Namespaces []string `yaml:"namespaces"`
	// Prefix stands before the names of tools and prompts of each, with {namespace} and {service} in the place of those of the
	// Service; nil: DefaultPrefix, with a warning for each; empty: none. A Service chooses none itself.
	Prefix *string `yaml:"prefix"`
	// Reflect lets Services say by annotation that they are any gRPC services, whose methods become tools.
	Reflect bool `yaml:"reflect"`
	// TLS towards those that say by annotation that they have it; its ServerName is not used. nil: the system's roots, and no
	// certificate of the edge's own.
	TLS *TLS `yaml:"tls"`
	// Metadata are keys of gRPC metadata of each, as of a Backend, but none from a file; empty: none.
	Metadata map[string]MetadataValue `yaml:"metadata"`
	// ForwardHeaders are headers of clients' HTTP requests that each gets as metadata, as of a Backend; empty: none.
	ForwardHeaders Names `yaml:"forward-headers"`
}

// namespaceName is what a namespace may be called.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (k *Kubernetes) validate() (errs []error) {
	if k == nil {
		return nil
	}
	for _, n := range k.Namespaces {
		if !namespaceName.MatchString(n) {
			errs = append(errs, fmt.Errorf("kubernetes.namespaces: %q is no name of a namespace: use at most 63 small letters, digits and -", n))
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
			wrong("metadata.%s: file: whoever may label a Service would be sent it: name the backend that is to have it among backends, with its metadata", key)
		}
	}
	k.Backend().validateMetadata(wrong)
	return errs
}

// Backend has the settings of Services that are those of a Backend.
func (k *Kubernetes) Backend() *Backend {
	return &Backend{Metadata: k.Metadata, ForwardHeaders: k.ForwardHeaders}
}

// DefaultPrefix stands before the names of backends that are found, unless Kubernetes.Prefix says otherwise: a name of a
// namespace has no "_", so no Service has names of another namespace.
const DefaultPrefix = "{namespace}_"

// PrefixOf stands before the names of tools and prompts of a Service. It is not checked: see ValidPrefix.
func (k *Kubernetes) PrefixOf(namespace, service string) string {
	prefix := DefaultPrefix
	if k.Prefix != nil {
		prefix = *k.Prefix
	}
	return strings.NewReplacer("{namespace}", namespace, "{service}", service).Replace(prefix)
}

// HasBackends says whether there are other backends than the bundled ones, or may be.
func (c *Config) HasBackends() bool { return len(c.Backends) > 0 || c.Kubernetes != nil }

// ServesDemo says whether the bundled services are served: where Demo wants them, and where nothing says what else to serve, neither a file nor a
// flag.
func (c *Config) ServesDemo() bool { return c.Demo || c.File == "" && !c.HasBackends() }

// NothingServed says why an edge cannot begin that has nothing to serve; nil: it has something.
func (c *Config) NothingServed() error {
	if c.HasBackends() || c.ServesDemo() {
		return nil
	}
	return fmt.Errorf("config %s: there is no backend: name some under backends, or serve the bundled demo with demo: true", c.File)
}

// ValidPrefix says whether something may stand before the names of a backend's tools.
func ValidPrefix(prefix string) bool { return toolPrefix.MatchString(prefix) }
