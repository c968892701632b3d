// Package kubernetes finds backends among the Services of a cluster: those with a label are backends while they exist.
//
//	Services, EndpointSlices ─► Watcher ─► Options.Changed: the set of backends
//	                                  └──► Watcher.Resolver: the addresses of each, as pods come and go
//
// It reads, and changes nothing: its role needs list and watch of services and endpointslices.discovery.k8s.io. When the API server
// is away, what was found before stays.
package kubernetes
