package kubernetes

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
)

// addresses are those of the pods of a backend that are ready, in order, each once. Of a Service with two families of addresses they are
// of one, IPv4 if it has any: both are of the same pods.
func addresses(all []*api.EndpointSlice, port string) []string {
	byFamily := map[string][]string{}
	for _, s := range all {
		if s.AddressType != api.AddressTypeIPv4 && s.AddressType != api.AddressTypeIPv6 {
			continue
		}
		number, ok := numberOf(s.Ports, port)
		if !ok {
			continue
		}
		for _, e := range s.Endpoints {
			if e.Conditions.Ready != nil && !*e.Conditions.Ready {
				continue // It starts, or ends: what runs there ends on its connection.
			}
			for _, a := range e.Addresses {
				byFamily[s.AddressType] = append(byFamily[s.AddressType], net.JoinHostPort(a, number))
			}
		}
	}
	out := byFamily[api.AddressTypeIPv4]
	if len(out) == 0 {
		out = byFamily[api.AddressTypeIPv6]
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// controller writes the EndpointSlices of Services that select pods by labels, and takes out what others write there.
const controller = "endpointslice-controller.k8s.io"

// ownPods are the EndpointSlices of a Service without the endpoints that are known not to be pods of its namespace; why says what was left out,
// empty: nothing. Of a Service that selects pods, whose EndpointSlices the cluster writes, that is known of each. Of one that selects none,
// whoever may write EndpointSlices in its namespace says where they lead.
func ownPods(all []*api.EndpointSlice, selects bool) (own []*api.EndpointSlice, why string) {
	for _, s := range all {
		if by := s.Labels[api.LabelManagedBy]; selects && by != controller {
			why = fmt.Sprintf("the EndpointSlice %s is managed by %q, though the Service selects its pods: take it out", s.Name, by)
			continue
		}
		pods := make([]api.Endpoint, 0, len(s.Endpoints))
		for _, e := range s.Endpoints {
			if isPod(e.TargetRef, s.Namespace) || e.TargetRef == nil && !selects {
				pods = append(pods, e)
				continue
			}
			why = fmt.Sprintf("the EndpointSlice %s leads to %.200q, which is no pod of the namespace: name what is elsewhere among the configured backends", s.Name, e.Addresses)
		}
		if len(pods) == len(s.Endpoints) {
			own = append(own, s)
			continue
		}
		kept := *s
		kept.Endpoints = pods
		own = append(own, &kept)
	}
	return own, why
}

// isPod reports whether a reference is to a pod of a namespace.
func isPod(r *api.ObjectReference, namespace string) bool {
	return r != nil && r.Kind == "Pod" && (r.Namespace == "" || r.Namespace == namespace)
}

// numberOf is the number that pods listen on for a port of their Service.
func numberOf(ports []api.EndpointPort, name string) (string, bool) {
	for _, p := range ports {
		if p.Name == name && p.Port != 0 && (p.Protocol == "" || p.Protocol == api.ProtocolTCP) {
			return strconv.Itoa(int(p.Port)), true
		}
	}
	return "", false
}
