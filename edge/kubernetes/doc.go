// Package kubernetes finds backends among the Services of a cluster: those with a label are
// backends while they exist.
//
//	Services, EndpointSlices ─► Watcher ─► Options.Changed: the set of backends
//	                                  └──► Watcher.Resolver: the addresses of each, as pods come and go
//
// It only reads: its role needs list and watch of services and endpointslices.discovery.k8s.io.
// While the API server is unavailable, the backends found before remain.
package kubernetes
