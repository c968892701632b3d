package api

// Object is a pointer to an object of the API.
type Object interface {
	comparable
	// Meta returns the object's metadata.
	Meta() *Metadata
}

// Metadata is the part of an object's metadata that is read.
type Metadata struct {
	Namespace       string            `json:"namespace,omitempty"`
	Name            string            `json:"name,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// Meta implements Object.
func (m *Metadata) Meta() *Metadata { return m }

// Resource identifies a resource type of the API, whose objects are of type T.
type Resource[T Object] struct {
	// Group is the API group; empty is the core group.
	Group string
	// Version of the group.
	Version string
	// Name in paths and in rules of Roles.
	Name string
}

// The resources that are read.
var (
	Services       = Resource[*Service]{Version: "v1", Name: "services"}
	EndpointSlices = Resource[*EndpointSlice]{Group: "discovery.k8s.io", Version: "v1", Name: "endpointslices"}
)

// path returns the path of the objects in a namespace.
func (r Resource[T]) path(namespace string) string {
	root := "/api/"
	if r.Group != "" {
		root = "/apis/" + r.Group + "/"
	}
	return root + r.Version + "/namespaces/" + namespace + "/" + r.Name
}

// Service is a Service of core/v1.
type Service struct {
	Metadata `json:"metadata"`
	Spec     ServiceSpec `json:"spec"`
}

// ServiceTypeExternalName is the type of a Service that stands for a DNS name.
const ServiceTypeExternalName = "ExternalName"

// ServiceSpec is the specification of a Service.
type ServiceSpec struct {
	Type         string            `json:"type,omitempty"`
	ExternalName string            `json:"externalName,omitempty"`
	Selector     map[string]string `json:"selector,omitempty"`
	Ports        []ServicePort     `json:"ports,omitempty"`
}

// ServicePort is a port of a Service. Name is empty if it has none.
type ServicePort struct {
	Name string `json:"name,omitempty"`
	Port int32  `json:"port"`
}

// The labels of EndpointSlices.
const (
	LabelServiceName = "kubernetes.io/service-name"
	LabelManagedBy   = "endpointslice.kubernetes.io/managed-by"
)

// The address types of EndpointSlices that hold IP addresses.
const (
	AddressTypeIPv4 = "IPv4"
	AddressTypeIPv6 = "IPv6"
)

// EndpointSlice is an EndpointSlice of discovery.k8s.io/v1.
type EndpointSlice struct {
	Metadata    `json:"metadata"`
	AddressType string         `json:"addressType"`
	Ports       []EndpointPort `json:"ports,omitempty"`
	Endpoints   []Endpoint     `json:"endpoints"`
}

// ProtocolTCP is the protocol of a port, also where it is empty.
const ProtocolTCP = "TCP"

// EndpointPort is a port of all endpoints of an EndpointSlice. Port 0 means that it has no number.
type EndpointPort struct {
	Name     string `json:"name,omitempty"`
	Port     int32  `json:"port,omitempty"`
	Protocol string `json:"protocol,omitempty"`
}

// Endpoint is one of an EndpointSlice.
type Endpoint struct {
	Addresses  []string           `json:"addresses"`
	Conditions EndpointConditions `json:"conditions"`
	// TargetRef is the object that the endpoint stands for; nil is unknown.
	TargetRef *ObjectReference `json:"targetRef,omitempty"`
}

// EndpointConditions are the conditions of an endpoint. nil is unknown, which counts as ready.
type EndpointConditions struct {
	Ready *bool `json:"ready,omitempty"`
}

// ObjectReference names an object.
type ObjectReference struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}
