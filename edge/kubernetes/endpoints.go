package kubernetes

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
)

// addresses returns the sorted addresses of a backend's ready pods, without duplicates. If a
// Service has IPv4 and IPv6 addresses, it returns the IPv4 ones only, because both belong to the
// same pods.
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
				continue // not ready: it starts, or it terminates and finishes calls on existing connections
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

// controller is the manager label of EndpointSlices that the cluster maintains for Services with a
// selector. It removes foreign entries from them.
const controller = "endpointslice-controller.k8s.io"

// ownPods returns the EndpointSlices of a Service without endpoints that may not be pods of its
// namespace; why describes what was removed, empty if nothing was. The cluster maintains the
// EndpointSlices of a Service with a selector, so all their endpoints are pods. For a Service
// without one, every user who may write EndpointSlices in its namespace chooses the endpoints, so
// each is checked.
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
			why = fmt.Sprintf("the EndpointSlice %s leads to %.200q, which is not a pod of the namespace: name what is elsewhere among the configured backends", s.Name, e.Addresses)
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

// isPod reports whether a reference is to a pod in a namespace.
func isPod(r *api.ObjectReference, namespace string) bool {
	return r != nil && r.Kind == "Pod" && (r.Namespace == "" || r.Namespace == namespace)
}

// numberOf returns the port number of pods for a named port of their Service.
func numberOf(ports []api.EndpointPort, name string) (string, bool) {
	for _, p := range ports {
		if p.Name == name && p.Port != 0 && (p.Protocol == "" || p.Protocol == api.ProtocolTCP) {
			return strconv.Itoa(int(p.Port)), true
		}
	}
	return "", false
}
