// Package kubernetes runs the chart in a cluster: the control plane and two nodes of Kubernetes, built from its Go module, in the
// namespaces of package engine, where the images are built, too. `make stages ONLY=kubernetes` runs it (build tag kubernetes); `make stages ONLY=chart` holds
// the chart's objects against their APIs without a cluster.
//
//	             this process: kubectl, helm, the clients     10.200.0.1
//	             etcd, API server, controllers, scheduler     bridge nodes
//	                       │                                       │
//	     ┌─────────────────┴──────────────┐
//	node1 10.200.0.11                node2 10.200.0.12        a network and mounts of its own each
//	containerd, kubelet, proxy       containerd, kubelet, proxy
//	pods 10.244.1.0/24               pods 10.244.2.0/24       Services 10.96.0.0/16, by way of node1
//
// Nothing is pulled: the images of the edge and of the services are built from deploy/Dockerfile, Redis is a stand-in of package
// engine, CoreDNS is built from its module, as is Traefik, which is ingress controller and gateway. No plugin enforces NetworkPolicies.
//
// The commands of docs/kubernetes.md are read from that page and run as they are there, up to a tool that is called through an ingress
// and through a route of the Gateway API.
package kubernetes
