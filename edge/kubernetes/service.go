package kubernetes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
)

// The annotations of Services.
const (
	// annotationPort is the name or the number of the Service's port that serves gRPC; without it that is the one named grpc, or the only one.
	annotationPort = "mcpedge.io/port"
	// annotationKind is KindContract, also when it is missing, or KindReflect.
	annotationKind = "mcpedge.io/kind"
	// annotationPrefix is what a Service would like before its tool and prompt names.
	annotationPrefix = "mcpedge.io/prefix"
	// annotationTLS is "true" where the backend is spoken to over TLS.
	annotationTLS = "mcpedge.io/tls"
)

// The kinds of backends, as in the configuration.
const (
	KindContract = "contract"
	KindReflect  = "reflect"
)

// portName is the port of a Service that serves gRPC unless it says another.
const portName = "grpc"

// Backend is a Service that is one.
type Backend struct {
	// Name is "namespace/service", and Target what Watcher.Resolver resolves.
	Name, Target string
	// Kind is KindContract or KindReflect.
	Kind string
	// Prefix is what it asks for before its tool and prompt names, which is no grant; it may be empty.
	Prefix string
	// TLS: it is spoken to over TLS, and its certificate has to be for Host.
	TLS bool
	// Host is the DNS name of the Service in its cluster: "service.namespace.svc".
	Host string

	// selects: its pods are selected by labels, so their EndpointSlices are the cluster's own.
	selects bool
	port    string // by its name, as EndpointSlices have it
}

// read makes a backend of a Service. The error says what is wrong with its annotations or ports, and what to do.
func read(s *api.Service) (Backend, error) {
	b := Backend{
		Name: s.Namespace + "/" + s.Name, Target: scheme + ":///" + s.Namespace + "/" + s.Name, Host: s.Name + "." + s.Namespace + ".svc",
		Kind: KindContract, Prefix: s.Annotations[annotationPrefix], selects: len(s.Spec.Selector) > 0,
	}
	if kind := s.Annotations[annotationKind]; kind != "" {
		b.Kind = kind
	}
	if b.Kind != KindContract && b.Kind != KindReflect {
		return b, fmt.Errorf("%s: %q: use %s or %s", annotationKind, b.Kind, KindContract, KindReflect)
	}
	switch tls := s.Annotations[annotationTLS]; tls {
	case "", "false":
	case "true":
		b.TLS = true
	default:
		return b, fmt.Errorf("%s: %q: use true or false", annotationTLS, tls)
	}
	if s.Spec.Type == api.ServiceTypeExternalName {
		return b, fmt.Errorf("it is of type ExternalName, which has no endpoints: name %q among the configured backends", s.Spec.ExternalName)
	}
	port, err := portOf(s)
	b.port = port
	return b, err
}

// portOf is the name of the port that serves gRPC.
func portOf(s *api.Service) (string, error) {
	ports := s.Spec.Ports
	wanted, said := s.Annotations[annotationPort]
	if !said {
		if len(ports) == 1 {
			return ports[0].Name, nil
		}
		wanted = portName
	}
	at := slices.IndexFunc(ports, func(p api.ServicePort) bool { return p.Name == wanted || strconv.Itoa(int(p.Port)) == wanted })
	if at >= 0 {
		return ports[at].Name, nil
	}
	var names []string
	for _, p := range ports {
		names = append(names, strings.TrimPrefix(p.Name+" ("+strconv.Itoa(int(p.Port))+")", " "))
	}
	return "", fmt.Errorf("it has no port %q but %s: name one %s, or say with %s which it is", wanted, strings.Join(names, ", "), portName, annotationPort)
}

// Revision tells settings of backends apart.
func (b *Backend) Revision() string {
	return strings.Join([]string{b.Kind, b.Prefix, strconv.FormatBool(b.TLS)}, "\n")
}
