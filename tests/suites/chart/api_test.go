package chart

import (
	"encoding/json"
	"reflect"
	"testing"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
)

// decoded is what the edge reads of an object of the API.
func decoded[T any](t *testing.T, of any) (out T) {
	t.Helper()
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The edge has types of its own for what it reads of the API: they have its names.
func TestObjectsOfTheAPI(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "n", Name: "o", ResourceVersion: "7", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}}
	metadata := api.Metadata{Namespace: "n", Name: "o", ResourceVersion: "7", Labels: meta.Labels, Annotations: meta.Annotations}
	service := core.Service{ObjectMeta: meta, Spec: core.ServiceSpec{
		Type: core.ServiceTypeExternalName, ExternalName: "e", Selector: map[string]string{"s": "3"}, Ports: []core.ServicePort{{Name: "grpc", Port: 50051}},
	}}
	if want, got := (api.Service{Metadata: metadata, Spec: api.ServiceSpec{
		Type: api.ServiceTypeExternalName, ExternalName: "e", Selector: map[string]string{"s": "3"}, Ports: []api.ServicePort{{Name: "grpc", Port: 50051}},
	}}), decoded[api.Service](t, service); !reflect.DeepEqual(got, want) {
		t.Errorf("a Service is read as %+v, want %+v", got, want)
	}

	name, port, protocol, ready := "grpc", int32(50051), core.ProtocolTCP, false
	slice := discovery.EndpointSlice{
		ObjectMeta: meta, AddressType: discovery.AddressTypeIPv6,
		Ports: []discovery.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}, {}},
		Endpoints: []discovery.Endpoint{{
			Addresses: []string{"fd00::1"}, Conditions: discovery.EndpointConditions{Ready: &ready},
			TargetRef: &core.ObjectReference{Kind: "Pod", Namespace: "n", Name: "p"},
		}, {}},
	}
	if want, got := (api.EndpointSlice{
		Metadata: metadata, AddressType: api.AddressTypeIPv6,
		Ports: []api.EndpointPort{{Name: "grpc", Port: 50051, Protocol: api.ProtocolTCP}, {}},
		Endpoints: []api.Endpoint{{
			Addresses: []string{"fd00::1"}, Conditions: api.EndpointConditions{Ready: &ready},
			TargetRef: &api.ObjectReference{Kind: "Pod", Namespace: "n", Name: "p"},
		}, {}},
	}), decoded[api.EndpointSlice](t, slice); !reflect.DeepEqual(got, want) {
		t.Errorf("an EndpointSlice is read as %+v, want %+v", got, want)
	}

	if api.LabelServiceName != discovery.LabelServiceName || api.LabelManagedBy != discovery.LabelManagedBy || api.AddressTypeIPv4 != string(discovery.AddressTypeIPv4) {
		t.Error("the edge has other labels or address types than the API")
	}
	event := metav1.WatchEvent{Type: "ADDED"}
	event.Object.Object = &service
	if got := decoded[struct{ Object api.Service }](t, event).Object; got.Name != "o" {
		t.Errorf("of an event it reads %+v", got)
	}
}

// The edge takes the selectors for some that the API server takes.
func TestSelectorsOfLabels(t *testing.T) {
	for _, s := range []string{
		"", "a", "!a", "a=b", "a == b", "a!=b", "a=", "a in (b, c)", "a notin (b)", "a in (,b)", "a>1", "a<2", "a = b , c", "mcpedge.io/backend=true",
		"a b", "=b", "a=b=c", ",a", "a in b", "a/b/c", "-a", "a=-b", "A/b", "a>b", "é",
	} {
		_, err := labels.Parse(s)
		if own := api.CheckSelector(s); (err == nil) != (own == nil) {
			t.Errorf("%q: the API has %v, the edge %v", s, err, own)
		}
	}
}
