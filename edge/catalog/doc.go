// Package catalog decides which objects each caller sees. It merges the lists of the backends into
// one view (names, URIs, templates, capabilities), answers list requests from the view, page by
// page and filtered for the caller, and resolves the object that a request names. Resolve does the
// latter once for each round and fills a Target; no other package does lookups. Package changes
// notifies subscribers of changes of the view.
//
// The view is immutable and replaced as a whole when a backend's catalog changes, so that finding a
// tool costs one atomic load and one map access. If the backends' lists depend on the caller, each
// caller has its own view, in a bounded cache.
package catalog
