package kubernetes

import (
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// addresses are those of the pods of a backend that are ready, in order, each once. Of a Service with two families of addresses they are
// of one, IPv4 if it has any: both are of the same pods.
func addresses(all []*discoveryv1.EndpointSlice, port string) []string {
	byFamily := map[discoveryv1.AddressType][]string{}
	for _, s := range all {
		if s.AddressType != discoveryv1.AddressTypeIPv4 && s.AddressType != discoveryv1.AddressTypeIPv6 {
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
	out := byFamily[discoveryv1.AddressTypeIPv4]
	if len(out) == 0 {
		out = byFamily[discoveryv1.AddressTypeIPv6]
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// numberOf is the number that pods listen on for a port of their Service.
func numberOf(ports []discoveryv1.EndpointPort, name string) (string, bool) {
	for _, p := range ports {
		has := ""
		if p.Name != nil {
			has = *p.Name
		}
		if has == name && p.Port != nil && (p.Protocol == nil || *p.Protocol == corev1.ProtocolTCP) {
			return strconv.Itoa(int(*p.Port)), true
		}
	}
	return "", false
}
