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
	// annotationPort is the name or number of the Service's gRPC port. Default: the port named
	// grpc, or else the only port.
	annotationPort = "mcpedge.io/port"
	// annotationKind is KindContract or KindReflect. Default: KindContract.
	annotationKind = "mcpedge.io/kind"
	// annotationPrefix is the prefix that a Service requests for its tool and prompt names.
	annotationPrefix = "mcpedge.io/prefix"
	// annotationTLS is "true" if the backend uses TLS.
	annotationTLS = "mcpedge.io/tls"
)

// The kinds of backends, as in the configuration.
const (
	KindContract = "contract"
	KindReflect  = "reflect"
)

// portName is the default name of a Service's gRPC port.
const portName = "grpc"

// Backend is a Service that is a backend.
type Backend struct {
	// Name is "namespace/service"; Target is resolved by Watcher.Resolver.
	Name, Target string
	// Kind is KindContract or KindReflect.
	Kind string
	// Prefix is the prefix that the Service requests, which is not granted yet; it may be empty.
	Prefix string
	// TLS enables TLS. The certificate must be valid for Host.
	TLS bool
	// Host is the DNS name of the Service in its cluster: "service.namespace.svc".
	Host string

	// selects reports that the Service has a pod selector, so that the cluster maintains its
	// EndpointSlices.
	selects bool
	port    string // by its name in EndpointSlices
}

// read converts a Service to a backend. It returns an error about invalid annotations or ports that
// says what to do.
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

// portOf returns the name of the gRPC port.
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
	return "", fmt.Errorf("it has no port %q, only %s: name a port %s, or select one with %s", wanted, strings.Join(names, ", "), portName, annotationPort)
}
